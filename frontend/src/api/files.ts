import { MOST_TEXT_BYTES } from '@/lib/fileKind'
import { api, send, urlOf } from './client'
import type { FileChange, FileEntry, FileMatches, Page } from './types'

const base = (projectId: string) => `/api/projects/${projectId}`

export const listFiles = (projectId: string, path = '', cursor?: string) =>
  api.get<Page<FileEntry>>(`${base(projectId)}/files`, { path, cursor, limit: 200 })
export const contentUrl = (projectId: string, path: string) => urlOf(`${base(projectId)}/files/content`, { path })

export interface FileText {
  /** With the byte order mark, if it begins with one: a save keeps it. Empty when the file is too big. */
  text: string
  big?: boolean
  etag: string | null
  type: string
}

/** A file as text, with the ETag that a later write sends as If-Match. */
export async function readText(projectId: string, path: string, signal?: AbortSignal): Promise<FileText> {
  const response = await send('GET', contentUrl(projectId, path), { signal, headers: { Accept: '*/*' } })
  const about = { etag: response.headers.get('ETag'), type: response.headers.get('Content-Type') ?? '' }
  if (Number(response.headers.get('Content-Length')) > MOST_TEXT_BYTES) {
    await response.body?.cancel()
    return { ...about, text: '', big: true }
  }
  return { ...about, text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(await response.arrayBuffer()) }
}
export async function readBlob(projectId: string, path: string): Promise<Blob> {
  return (await send('GET', contentUrl(projectId, path), { headers: { Accept: '*/*' } })).blob()
}
/** Writes a file; with `etag` the server refuses (412) if someone changed it meanwhile. */
export async function writeText(projectId: string, path: string, text: string, etag?: string | null): Promise<string | null> {
  const headers: Record<string, string> = { 'Content-Type': 'application/octet-stream' }
  if (etag) headers['If-Match'] = etag
  const response = await send('PUT', contentUrl(projectId, path), { body: text, headers })
  return response.headers.get('ETag')
}
/** A new file; refused (412) if there is one already. Its ETag. */
export async function createFile(projectId: string, path: string, text: string): Promise<string | null> {
  const response = await send('PUT', contentUrl(projectId, path), { body: text, headers: { 'Content-Type': 'application/octet-stream', 'If-None-Match': '*' } })
  return response.headers.get('ETag')
}
export const createEmpty = (projectId: string, path: string) => createFile(projectId, path, '').then(() => path)
export const deleteFile = (projectId: string, path: string) => api.delete(contentUrl(projectId, path))
export const moveFile = (projectId: string, path: string, newPath: string) =>
  api.patch<FileEntry>(urlOf(`${base(projectId)}/files`, { path }), { new_path: newPath })
export const makeFolder = (projectId: string, path: string) => api.post<FileEntry>(`${base(projectId)}/directories`, { path })
export const listChanges = (projectId: string, query: { path?: string; run_id?: string; cursor?: string; limit?: number }) =>
  api.get<Page<FileChange>>(`${base(projectId)}/changes`, query)
/** For each file that is gone and can come back the change that deleted it. */
export const listDeleted = (projectId: string, cursor?: string) => api.get<Page<FileChange>>(`${base(projectId)}/changes`, { deleted: true, cursor })
export const revertChange = (projectId: string, id: string) => api.post<FileChange>(`${base(projectId)}/changes/${id}/revert`)
/** One change with its unified diff; null for contents that are no text, or too large. */
export const getChange = (projectId: string, id: string) => api.get<FileChange & { diff: string | null }>(`${base(projectId)}/changes/${id}`)
export const searchFiles = (projectId: string, query: { query: string; path?: string; case_sensitive?: boolean }, signal?: AbortSignal) =>
  api.post<FileMatches>(`${base(projectId)}/files/search`, query, { signal })
/** What a file held before a change. */
export const readBefore = async (projectId: string, id: string): Promise<Blob> =>
  (await send('GET', `${base(projectId)}/changes/${id}/content`, { headers: { Accept: '*/*' } })).blob()
export async function writeBlob(projectId: string, path: string, content: Blob): Promise<void> {
  await send('PUT', contentUrl(projectId, path), { body: content, headers: { 'Content-Type': 'application/octet-stream' } })
}
