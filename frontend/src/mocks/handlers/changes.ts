import { json, page, problem, type Handlers } from '..'
import { db, newId, now, publish, writeFile } from '../db'
import type { FileChange } from '@/api/types'

/** Earlier contents of files: one change of a run and one of a person for each file the mocks begin with. */
const OLD = 'month,region,amount\n2026-01,North,1100.00\n'
const made = new Map<string, FileChange[]>()

function changesOf(projectId: string, path: string | null): FileChange[] {
  if (!made.has(projectId)) {
    const files = Object.keys(db.files[projectId] ?? {})
    made.set(projectId, files.flatMap((name) => [
      { id: newId('chg'), path: name, new_path: null, action: 'write', before_hash: 'h1', after_hash: 'h2', before_size: 900, after_size: 912, run_id: 'run_demo', user_id: 'u1', reverted_at: null, created_at: now() },
      { id: newId('chg'), path: name, new_path: null, action: 'write', before_hash: null, after_hash: 'h1', before_size: null, after_size: 900, run_id: null, user_id: 'u1', reverted_at: null, created_at: new Date(Date.now() - 86_400_000).toISOString() },
    ] satisfies FileChange[]))
  }
  return made.get(projectId)!.filter((change) => !path || change.path === path)
}
const gone: FileChange[] = ['notes.txt', 'drafts/old-plan.md', 'drafts/older/plan.md'].map((path, ago) => ({ folder: path.startsWith('drafts/') ? 'drafts' : null, id: newId('chg'), path, new_path: null, action: 'delete', before_hash: 'h1', after_hash: null, before_size: 900, after_size: null, run_id: ago ? null : 'run_demo', user_id: 'u1', reverted_at: null, created_at: now() }))
const find = (projectId: string, id: string) => [...changesOf(projectId, null), ...gone].find((change) => change.id === id)

export const changeHandlers: Handlers = {
  'GET /api/projects/:id/changes': ({ params, url }) => page(url.searchParams.has('deleted') ? gone.filter((change) => !change.reverted_at) : changesOf(params.id!, url.searchParams.get('path'))),
  'GET /api/projects/:id/changes/:change': ({ params }) => {
    const change = find(params.id!, params.change!)
    if (!change) return problem(404, 'not_found', 'There is no such change.')
    return json({ ...change, diff: `--- a/${change.path}\n+++ b/${change.path}\n@@ -1,2 +1,2 @@\n month,region,amount\n-2026-01,North,1100.00\n+2026-01,North,1204.50\n` })
  },
  'GET /api/projects/:id/changes/:change/content': () => new Response(OLD),
  'POST /api/projects/:id/changes/:change/revert': ({ params }) => {
    const change = find(params.id!, params.change!)
    if (!change) return problem(404, 'not_found', 'There is no such change.')
    change.reverted_at = now()
    writeFile(params.id!, change.path, OLD)
    return json(change)
  },
  'POST /api/projects/:id/directories': async (request) => {
    const body = await request.json()
    publish('files', request.params.id!)
    return json({ name: String(body.path), path: String(body.path), type: 'dir', size: 0, modified_at: now() }, 201)
  },
  'POST /api/projects/:id/files/search': async (request) => {
    const { query } = await request.json()
    const wanted = String(query).toLowerCase()
    const items = Object.entries(db.files[request.params.id!] ?? {}).flatMap(([path, file]) =>
      (typeof file.content === 'string' ? file.content.split('\n') : []).flatMap((text, index) => (text.toLowerCase().includes(wanted) ? [{ path, line: index + 1, column: 1, text }] : [])),
    )
    return json({ items: items.slice(0, 100), next_cursor: null, files: 4, incomplete: items.length > 100 ? 'matches' : null })
  },
}
