import type { Conversation, Message } from '@/api/types'
import { json, page, problem, type Handlers } from '..'
import { db, newId, now, publish } from '../db'

const ORDER: Record<string, (a: Conversation, b: Conversation) => number> = {
  updated: (a, b) => b.updated_at.localeCompare(a.updated_at),
  created: (a, b) => b.created_at.localeCompare(a.created_at),
  title: (a, b) => a.title.localeCompare(b.title),
}
const missing = () => problem(404, 'not_found', 'There is no such conversation.')
const find = (id: string) => db.conversations.find((one) => one.id === id && !one.deleted_at)

function wanted(query: URLSearchParams): Conversation[] {
  const is = (name: string, value: boolean, usual: string) => {
    const asked = query.get(name) ?? usual
    return asked === 'any' || (asked === 'true') === value
  }
  const project = query.get('project_id')
  const [tag, words] = [query.get('tag')?.toLowerCase(), query.get('q')?.toLowerCase()]
  const gone = query.get('deleted') === 'true'
  return db.conversations
    .filter((one) => Boolean(one.deleted_at) === gone && !one.temporary && (!project || one.project_id === project))
    .filter((one) => gone || (is('archived', Boolean(one.archived), 'false') && is('pinned', Boolean(one.pinned), 'any')))
    .filter((one) => (!tag || one.tags?.some((other) => other.toLowerCase() === tag)) && (!words || one.title.toLowerCase().includes(words)))
    .sort(ORDER[query.get('sort') ?? 'updated'])
}

function fork(from: Conversation, messageId: string): Conversation {
  const copy: Conversation = { ...from, id: newId('c'), title: `${from.title} (fork)`, pinned: false, archived: false, temporary: false, active_run_id: null, forked_from: { conversation_id: from.id, message_id: messageId }, created_at: now(), updated_at: now() }
  const path: Message[] = []
  for (let id: string | null = messageId; id; ) {
    const message: Message | undefined = db.messages.find((one) => one.id === id)
    if (!message) break
    path.unshift(message)
    id = message.parent_id
  }
  let parent: string | null = null
  for (const message of path) {
    const id = newId('m')
    db.messages.push({ ...message, id, conversation_id: copy.id, parent_id: parent, siblings: [id], run_id: null })
    parent = id
  }
  copy.active_leaf_id = parent
  db.conversations.unshift(copy)
  publish('conversation', copy.id)
  return copy
}

interface Exported {
  format?: string
  conversations?: { title?: unknown; tags?: string[]; messages?: unknown }[]
}
/** Makes the conversations of a file; one without messages is left out, as the server does. */
function bringIn(file: Exported, project: string | null): { items: Conversation[]; skipped: object[] } | null {
  if (file.format !== 'nanoclaw.conversations' || !Array.isArray(file.conversations)) return null
  const items: Conversation[] = []
  const skipped: object[] = []
  file.conversations.forEach((one, index) => {
    const title = String(one.title ?? '')
    if (!Array.isArray(one.messages)) return skipped.push({ index, title, code: 'validation_failed', detail: 'messages: a list is expected' })
    const made: Conversation = { id: newId('c'), title, project_id: project, model: null, active_leaf_id: null, active_run_id: null, pinned: false, archived: false, tags: one.tags ?? [], temporary: false, forked_from: null, created_at: now(), updated_at: now() }
    db.conversations.unshift(made)
    return items.push(made)
  })
  return { items, skipped }
}

export const organiseHandlers: Handlers = {
  'GET /api/conversations': ({ url }) => page(wanted(url.searchParams)),
  'GET /api/conversations/tags': ({ url }) => {
    const counts = new Map<string, number>()
    for (const one of wanted(new URLSearchParams({ project_id: url.searchParams.get('project_id') ?? '', archived: 'any' }))) for (const tag of one.tags ?? []) counts.set(tag, (counts.get(tag) ?? 0) + 1)
    return json({ items: [...counts].map(([tag, count]) => ({ tag, count })) })
  },
  'POST /api/conversations/:id/fork': async (request) => {
    const from = find(request.params.id!)
    return from ? json(fork(from, String((await request.json()).message_id)), 201) : missing()
  },
  'GET /api/export': () => json({ format: 'nanoclaw.conversations', version: 1, exported_at: now(), conversations: db.conversations.filter((one) => !one.deleted_at).map((one) => ({ ...one, messages: db.messages.filter((message) => message.conversation_id === one.id) })) }),
  'GET /api/conversations/:id/export': ({ params, url }) => {
    const one = find(params.id!)
    if (!one) return missing()
    const messages = db.messages.filter((message) => message.conversation_id === one.id)
    const markdown = url.searchParams.get('format') === 'md'
    const body = markdown ? messages.map((message) => `## ${message.role}\n\n${message.content}`).join('\n\n') : JSON.stringify({ format: 'nanoclaw.conversations', version: 1, exported_at: now(), conversations: [{ ...one, messages }] })
    return new Response(body, { headers: { 'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(one.title)}.${markdown ? 'md' : 'json'}` } })
  },
  'POST /api/import': async (request) => {
    let file: Exported
    try {
      file = JSON.parse(/\r\n\r\n([\s\S]*?)\r\n--/.exec(await request.text())?.[1] ?? '') as Exported
    } catch {
      return problem(422, 'validation_failed', 'The file is not JSON.')
    }
    const made = bringIn(file, request.url.searchParams.get('project_id'))
    if (!made) return problem(422, 'validation_failed', 'format: this is not a file of conversations')
    publish('conversation', made.items[0]?.id ?? '')
    return json(made, 201)
  },
}
