import type { Conversation, FileEntry, Me, Message, Project, Run, Tool } from '@/api/types'
import { conversations, messages } from './fixtures/conversations'
import { files } from './fixtures/files'
import { projects } from './fixtures/projects'
import { runs } from './fixtures/runs'
import { tools } from './fixtures/tools'
import { now } from './ids'

export { newId, now } from './ids'

export interface MockEvent {
  id: number
  type: string
  data: Record<string, unknown>
}

/** Everything the mocked server remembers, for as long as the tab lives. `?empty` in the URL starts with nothing. */
const empty = new URLSearchParams(location.search).has('empty')

export const db = {
  me: { user: { id: 'u1', name: 'Owner', role: 'admin' }, settings: {}, csrf_token: 'mock-csrf' } as Me,
  signedIn: !new URLSearchParams(location.search).has('signed-out'),
  projects: (empty ? [] : projects) as Project[],
  conversations: (empty ? [] : conversations) as Conversation[],
  messages: (empty ? [] : messages) as Message[],
  tools: tools as Tool[],
  runs: (empty ? [] : runs) as Run[],
  events: new Map<string, MockEvent[]>(),
  /** project id -> path -> content */
  files: (empty ? {} : files) as Record<string, Record<string, { content: string | Blob; modified_at: string }>>,
}

type Listener = (changed: { type: string; id: string }) => void
const listeners = new Set<Listener>()
export const publish = (type: string, id: string): void => listeners.forEach((listener) => listener({ type, id }))
export const subscribe = (listener: Listener): (() => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function writeFile(projectId: string, path: string, content: string | Blob): FileEntry {
  ;(db.files[projectId] ??= {})[path] = { content, modified_at: now() }
  publish('files', projectId)
  return entryOf(projectId, path)
}

export function entryOf(projectId: string, path: string): FileEntry {
  const file = db.files[projectId]![path]!
  const size = typeof file.content === 'string' ? new TextEncoder().encode(file.content).length : file.content.size
  return { name: path.split('/').at(-1)!, path, type: 'file', size, modified_at: file.modified_at }
}
