import type { Conversation, Message, Run } from '@/api/types'
import { json, page, problem, type Handlers } from '..'
import { db, newId, now, publish } from '../db'
import { play } from '../script'
import { deleteMessage } from './aftermath'

const USUAL_LIMITS = { max_steps: 20, step_timeout_seconds: 60, run_timeout_seconds: 300, max_retries_per_tool: 2, max_consecutive_errors: 3 }
const find = (id: string) => db.conversations.find((conversation) => conversation.id === id && !conversation.deleted_at)
const missing = () => problem(404, 'not_found', 'There is no such conversation.')

function siblingsOf(message: Message): string[] {
  return db.messages.filter((other) => other.conversation_id === message.conversation_id && other.parent_id === message.parent_id && other.state === 'sent').map((other) => other.id)
}
function pathTo(leaf: string | null): Message[] {
  const path: Message[] = []
  for (let id = leaf; id; ) {
    const message = db.messages.find((other) => other.id === id)
    if (!message) break
    path.unshift({ ...message, siblings: siblingsOf(message) })
    id = message.parent_id
  }
  return path
}
function leafBelow(id: string): string {
  const child = db.messages.filter((message) => message.parent_id === id && message.state === 'sent').at(-1)
  return child ? leafBelow(child.id) : id
}

function startRun(conversation: Conversation, question: Message, model: string): Run {
  const run: Run = {
    id: newId('run'), kind: 'chat', status: 'queued', stop_reason: null, project_id: conversation.project_id, conversation_id: conversation.id, parent_run_id: null, parent_call_id: null, model,
    input: question.content, output: null, error: null, usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, limits: USUAL_LIMITS, step_count: 0, created_at: now(), started_at: null, finished_at: null,
  }
  db.runs.unshift(run)
  conversation.active_run_id = run.id
  publish('run', run.id)
  void play(run, question)
  return run
}

/** A message of the user: it starts a run, or waits while one goes on. */
export function sendOn(conversation: Conversation, body: Record<string, unknown>): { message: Message; run: Run | null } {
  const running = db.runs.some((run) => run.id === conversation.active_run_id)
  const attachments = ((body.attachments as string[]) ?? []).map((path) => ({ type: 'file', path, name: path.split('/').at(-1)!, size: 1, media_type: 'text/plain' }))
  const message: Message = {
    id: newId('m'), conversation_id: conversation.id, parent_id: body.parent_id === undefined ? conversation.active_leaf_id : (body.parent_id as string | null), siblings: [], position: db.messages.length, role: 'user',
    state: running ? 'queued' : 'sent', content: String(body.content), reasoning: '', blocks: [], tool_calls: [], attachments, model: '', usage: null, error: null, run_id: null, created_at: now(),
  }
  db.messages.push(message)
  if (running) return { message, run: null }
  conversation.active_leaf_id = message.id
  conversation.updated_at = now()
  message.siblings = siblingsOf(message)
  return { message, run: startRun(conversation, message, String(body.model ?? 'offline')) }
}

export const conversationHandlers: Handlers = {
  'POST /api/conversations': async (request) => {
    const conversation = { id: newId('c'), title: '', project_id: null, model: null, active_leaf_id: null, active_run_id: null, pinned: false, archived: false, tags: [], temporary: false, forked_from: null, created_at: now(), updated_at: now(), ...(await request.json()) } as Conversation
    db.conversations.unshift(conversation)
    return json(conversation, 201)
  },
  'GET /api/conversations/:id': ({ params }) => (find(params.id!) ? json(find(params.id!)) : missing()),
  'PATCH /api/conversations/:id': async (request) => {
    const conversation = find(request.params.id!)
    if (!conversation) return missing()
    Object.assign(conversation, await request.json())
    publish('conversation', conversation.id)
    return json(conversation)
  },
  'DELETE /api/conversations/:id': ({ params, url }) => {
    if (url.searchParams.has('for_good')) db.conversations = db.conversations.filter((other) => other.id !== params.id || !other.deleted_at)
    const conversation = find(params.id!)
    if (conversation) conversation.deleted_at = now()
    publish('conversation', params.id!)
    return json(null, 204)
  },
  'POST /api/conversations/:id/restore': ({ params }) => {
    const conversation = db.conversations.find((other) => other.id === params.id)
    if (conversation) conversation.deleted_at = null
    publish('conversation', params.id!)
    return json(conversation)
  },
  'GET /api/conversations/:id/messages': ({ params, url }) => {
    const conversation = find(params.id!)
    if (!conversation) return missing()
    const around = url.searchParams.get('around')
    const leaf = around ? leafBelow(around) : (url.searchParams.get('leaf') ?? conversation.active_leaf_id)
    const path = pathTo(leaf)
    const limit = Number(url.searchParams.get('limit') ?? 50)
    const cursor = url.searchParams.get('cursor') ?? ''
    const [direction, edge] = [cursor[0], Number(cursor.slice(1))]
    const middle = around ? path.findIndex((message) => message.id === around) + limit / 2 : path.length
    const end = Math.min(path.length, direction === '<' ? edge : direction === '>' ? edge + limit : middle)
    const start = direction === '>' ? edge : Math.max(0, end - limit)
    const queued = db.messages.filter((message) => message.conversation_id === params.id && message.state === 'queued')
    return page(path.slice(start, end), { next_cursor: start ? `<${start}` : null, prev_cursor: end < path.length ? `>${end}` : null, leaf_id: leaf, queued })
  },
  'POST /api/conversations/:id/messages': async (request) => {
    const conversation = find(request.params.id!)
    return conversation ? json(sendOn(conversation, await request.json()), 202) : missing()
  },
  'POST /api/messages/:id/regenerate': ({ params }) => {
    const message = db.messages.find((other) => other.id === params.id)
    if (!message) return missing()
    const question = message.role === 'user' ? message : db.messages.find((other) => other.id === message.parent_id)!
    const conversation = find(question.conversation_id)!
    conversation.active_leaf_id = question.id
    return json({ message: question, run: startRun(conversation, question, 'offline') }, 202)
  },
  'PATCH /api/messages/:id': async (request) => {
    const message = db.messages.find((other) => other.id === request.params.id)
    if (message?.state !== 'queued') return problem(409, 'conflict', 'Only a message that still waits can be changed.')
    return json(Object.assign(message, await request.json()))
  },
  'DELETE /api/messages/:id': ({ params, url }) => {
    const message = db.messages.find((other) => other.id === params.id)
    if (!message) return problem(404, 'not_found', 'There is no such message.')
    if (url.searchParams.get('following') === 'true') deleteMessage(message)
    else message.state = 'withdrawn'
    return json(null, 204)
  },
}
