import { json, page, problem, type Handlers } from '..'
import { db, entryOf, publish, writeFile } from '../db'
import type { FileEntry } from '@/api/types'

function listFolder(projectId: string, folder: string): FileEntry[] {
  const prefix = folder ? `${folder}/` : ''
  const found = new Map<string, FileEntry>()
  for (const path of Object.keys(db.files[projectId] ?? {})) {
    if (!path.startsWith(prefix)) continue
    const rest = path.slice(prefix.length)
    const slash = rest.indexOf('/')
    const entry = entryOf(projectId, path)
    if (slash < 0) found.set(path, entry)
    else found.set(prefix + rest.slice(0, slash), { name: rest.slice(0, slash), path: prefix + rest.slice(0, slash), type: 'dir', size: 0, modified_at: entry.modified_at })
  }
  return [...found.values()]
}

export const fileHandlers: Handlers = {
  'GET /api/projects/:id/files': ({ params, url }) => page(listFolder(params.id!, url.searchParams.get('path') ?? '')),
  'PATCH /api/projects/:id/files': async (request) => {
    const path = request.url.searchParams.get('path')!
    const body = await request.json()
    const file = db.files[request.params.id!]?.[path]
    if (!file) return problem(404, 'not_found', 'There is no such file.')
    delete db.files[request.params.id!]![path]
    return json(writeFile(request.params.id!, String(body.new_path), file.content))
  },
  'GET /api/projects/:id/files/content': ({ params, url }) => {
    const path = url.searchParams.get('path')!
    const file = db.files[params.id!]?.[path]
    if (!file) return problem(404, 'not_found', 'There is no such file.')
    return new Response(file.content, { headers: { ETag: `"${file.modified_at}"`, 'Content-Type': 'text/plain' } })
  },
  'PUT /api/projects/:id/files/content': async (request) => {
    const entry = writeFile(request.params.id!, request.url.searchParams.get('path')!, await request.text())
    return json(entry, 200, { ETag: `"${entry.modified_at}"` })
  },
  'DELETE /api/projects/:id/files/content': ({ params, url }) => {
    delete db.files[params.id!]?.[url.searchParams.get('path')!]
    publish('files', params.id!)
    return json(null, 204)
  },
}
