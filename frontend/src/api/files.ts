import { api, send, urlOf } from './client'
import type { FileChange, FileEntry, Page } from './types'

const base = (projectId: string) => `/api/projects/${projectId}`

export const listFiles = (projectId: string, path = '', cursor?: string) =>
  api.get<Page<FileEntry>>(`${base(projectId)}/files`, { path, cursor, limit: 200 })
export const contentUrl = (projectId: string, path: string) => urlOf(`${base(projectId)}/files/content`, { path })

export interface FileText {
  text: string
  etag: string | null
  type: string
}

/** A file as text, with the ETag that a later write sends as If-Match. */
export async function readText(projectId: string, path: string, signal?: AbortSignal): Promise<FileText> {
  const response = await send('GET', contentUrl(projectId, path), { signal, headers: { Accept: '*/*' } })
  return { text: await response.text(), etag: response.headers.get('ETag'), type: response.headers.get('Content-Type') ?? '' }
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
export const deleteFile = (projectId: string, path: string) => api.delete(contentUrl(projectId, path))
export const moveFile = (projectId: string, path: string, newPath: string) =>
  api.patch<FileEntry>(urlOf(`${base(projectId)}/files`, { path }), { new_path: newPath })
export const makeFolder = (projectId: string, path: string) => api.post<FileEntry>(`${base(projectId)}/directories`, { path })
export const listChanges = (projectId: string, query: { path?: string; run_id?: string; cursor?: string }) =>
  api.get<Page<FileChange>>(`${base(projectId)}/changes`, query)
export const revertChange = (projectId: string, id: string) => api.post<FileChange>(`${base(projectId)}/changes/${id}/revert`)
