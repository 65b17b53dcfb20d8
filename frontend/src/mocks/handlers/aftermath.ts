import type { Call, Message, RunDiff } from '@/api/types'
import { json, page, problem, type Handlers } from '..'
import { db, newId, publish } from '../db'
import { sendOn } from './conversations'

/** What can still be done after an answer: delete it and put it back, settle a call, undo the work on files, go on. */
const missing = () => problem(404, 'not_found', 'There is no such message.')
const find = (id: string) => db.messages.find((message) => message.id === id)
const UNFINISHED: ReadonlySet<string> = new Set(['max_steps', 'timeout', 'cancelled', 'failed'])
const taken = new Set<string>()

/** A message and all that follows it, whichever branch. */
export function withFollowing(id: string): Message[] {
  const here = find(id)
  return here ? [here, ...db.messages.filter((message) => message.parent_id === id).flatMap((message) => withFollowing(message.id))] : []
}
function newestLeaf(id: string): string {
  const child = db.messages.filter((message) => message.parent_id === id && message.state === 'sent').at(-1)
  return child ? newestLeaf(child.id) : id
}

export function deleteMessage(message: Message): void {
  const gone = withFollowing(message.id)
  for (const one of gone) one.state = 'deleted'
  const conversation = db.conversations.find((one) => one.id === message.conversation_id)
  if (conversation && gone.some((one) => one.id === conversation.active_leaf_id)) {
    const beside = db.messages.filter((one) => one.conversation_id === conversation.id && one.parent_id === message.parent_id && one.state === 'sent').at(-1)
    conversation.active_leaf_id = beside ? newestLeaf(beside.id) : message.parent_id
  }
  publish('conversation', message.conversation_id)
}

const callsOf = (runId: string): Call[] => db.messages.filter((message) => message.run_id === runId).flatMap((message) => message.tool_calls)
function settled(call: Call, done: boolean): Call {
  const note = `The user has checked: this was ${done ? '' : 'not '}done.`
  const result = done ? { success: true, data: { note } } : { success: false, tool: call.function.name, status: 'error', code: 'not_done', error: note, retryable: true }
  return Object.assign(call, { status: done ? 'success' : 'error', success: done, result: JSON.stringify(result), summary: note })
}

const WRITES: ReadonlySet<string> = new Set(['file_write', 'file_delete'])
function diffsOf(runId: string): RunDiff[] {
  return callsOf(runId).filter((call) => WRITES.has(call.function.name) && call.success).map((call): RunDiff => {
    const { path, content = '' } = JSON.parse(call.function.arguments) as { path: string; content?: string }
    const lines = content.split('\n').map((line) => `+${line}`)
    const wrote = call.function.name === 'file_write'
    return { path, new_path: null, action: wrote ? 'create' : 'delete', diff: wrote ? `--- a/${path}\n+++ b/${path}\n@@ -0,0 +1,${lines.length} @@\n${lines.join('\n')}\n` : null, change_ids: [newId('chg')], call_ids: [call.id], reverted: taken.has(`${runId} ${path}`) }
  })
}

export const aftermathHandlers: Handlers = {
  'POST /api/messages/:id/restore': ({ params }) => {
    const message = find(params.id!)
    if (message?.state !== 'deleted') return missing()
    for (const one of withFollowing(message.id)) one.state = 'sent'
    const conversation = db.conversations.find((one) => one.id === message.conversation_id)
    if (conversation) conversation.active_leaf_id = newestLeaf(message.id)
    publish('conversation', message.conversation_id)
    return json(message)
  },
  'POST /api/runs/:id/calls/:call/resolve': async (request) => {
    const call = callsOf(request.params.id!).find((one) => one.id === request.params.call)
    if (call?.status !== 'unknown') return problem(409, 'conflict', 'The outcome of this call is known.')
    publish('run', request.params.id!)
    return json(settled(call, (await request.json()).outcome === 'done'))
  },
  'POST /api/runs/:id/continue': ({ params }) => {
    const run = db.runs.find((one) => one.id === params.id)
    if (!run || !UNFINISHED.has(run.status)) return problem(409, 'conflict', 'The run is completed; send a message instead.')
    const conversation = db.conversations.find((one) => one.id === run.conversation_id)
    return conversation ? json(sendOn(conversation, { content: 'Go on.' }), 202) : problem(409, 'conflict', 'Only runs of a conversation can be continued here.')
  },
  'GET /api/runs/:id/changes': ({ params }) => page(diffsOf(params.id!)),
  'POST /api/runs/:id/undo': async (request) => {
    const { paths } = (await request.json()) as { paths?: string[] }
    const { id } = request.params
    const undone = diffsOf(id!).filter((diff) => !diff.reverted && (!paths || paths.includes(diff.path)))
    const projectId = db.runs.find((run) => run.id === id)?.project_id
    for (const diff of undone) {
      taken.add(`${id} ${diff.path}`)
      if (projectId && diff.action === 'create') delete db.files[projectId]?.[diff.path]
    }
    if (projectId) publish('files', projectId)
    return json({ undone: undone.map((diff) => ({ path: diff.path, how: diff.action === 'create' ? 'removed' : 'restored', change_ids: diff.change_ids })), conflicts: [] })
  },
}
