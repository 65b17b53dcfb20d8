import type { Call, CancelReceipt, Message, Run } from '@/api/types'
import { failedCall, makeCall } from './calls'
import { db, newId, now, publish, writeFile, type MockEvent } from './db'
import { ANSWER } from './fixtures/answer'

/** A scripted run: reasoning, tool calls, an answer, at a human pace. `?fast` in the URL speeds it up. */

/** Messages with one of these words play a run with that turn. */
export const RUN_STATES = {
  'state:completed': 'reasoning, tools, an answer', 'state:queued': 'it waits for a free place and never begins', 'state:limit': 'the step limit is reached', 'state:timeout': 'the time limit is reached', 'state:resumed': 'the server restarts in between',
  'state:failed': 'the model fails', 'state:errors': 'every tool fails', 'state:silent': 'the model says nothing', 'state:refused': 'the model refuses', 'state:budget': 'the budget is used up', 'state:storage': 'the disk is full',
  'state:trimmed': 'older messages are left out', 'state:retry': 'the model is busy', 'state:notices': 'everything a run can tell, one by one', 'state:helpers': 'several agents at once',
}
const failed = (stop_reason: string, code: string, message: string): Pick<Run, 'status' | 'stop_reason' | 'error'> => ({ status: 'failed', stop_reason, error: { code, message } })
const ENDS: Record<string, Pick<Run, 'status' | 'stop_reason' | 'error'>> = {
  'state:failed': failed('error', 'model_error', 'The model server answered 500.'),
  'state:errors': failed('consecutive_errors', 'consecutive_errors', 'Every call failed in 3 steps.'),
  'state:silent': failed('empty_answer', 'empty_answer', 'The model gave no answer.'),
  'state:refused': failed('content_filter', 'content_filter', 'The model refused.'),
  'state:budget': failed('budget', 'model_quota', 'The budget is used up.'),
  'state:storage': failed('storage', 'storage', 'The disk is full.'),
  'state:limit': { status: 'max_steps', stop_reason: 'max_steps', error: null },
  'state:timeout': { status: 'timeout', stop_reason: 'run_timeout', error: null },
}
const NOTICES: Record<string, [code: string, detail: string][]> = {
  'state:trimmed': [['context_trimmed', '']],
  'state:retry': [['retry_wait', '3 s']],
  'state:notices': [
    ['fallback', 'qwen3-coder'], ['text_was_reasoning', ''], ['tools_refused', ''], ['limit_near', '3 steps are left of 20.'], ['answer_cut', ''], ['malformed_call', ''], ['summary_failed', ''],
    ['repeated_call', 'web_search'], ['repeated_violation', 'file_read'], ['tool_retry', 'fetch_page'], ['degraded', 'text_process'],
  ],
}

const PACE = new URLSearchParams(location.search).has('fast') ? 0.1 : 1
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms * PACE))
const watchers = new Map<string, Set<(event: MockEvent) => void>>()
const cancelled = new Set<string>()

function emit(runId: string, type: string, data: Record<string, unknown>): void {
  const log = db.events.get(runId)!
  const event = { id: log.length + 1, type, data }
  log.push(event)
  watchers.get(runId)?.forEach((watch) => watch(event))
}

export function follow(runId: string, after: number, onEvent: (event: MockEvent) => void): () => void {
  const set = watchers.get(runId) ?? new Set()
  watchers.set(runId, set)
  for (const event of db.events.get(runId) ?? []) if (event.id > after) onEvent(event)
  set.add(onEvent)
  return () => set.delete(onEvent)
}

export function cancelScript(runId: string): CancelReceipt {
  cancelled.add(runId)
  return { stopped: [{ type: 'model', id: runId, name: 'demo' }], finished: [], abandoned: [], usage: { prompt_tokens: 900, completion_tokens: 100, total_tokens: 1000 } }
}

async function say(run: Run, type: 'text' | 'reasoning', step: number, text: string, blocks: Message['blocks']): Promise<string> {
  let said = ''
  for (const piece of text.match(/[\s\S]{1,9}/gu) ?? []) {
    if (cancelled.has(run.id)) break
    emit(run.id, `${type}.delta`, { step, offset: [...said].length, text: piece })
    said += piece
    await wait(25)
  }
  blocks.push({ type, text: said })
  return said
}

async function act(run: Run, calls: Call[], answer: { blocks: Message['blocks']; calls: Call[] }): Promise<void> {
  if (cancelled.has(run.id)) return
  for (const call of calls) {
    answer.blocks.push({ type: 'tool_call', call_id: call.id })
    emit(run.id, 'tool_call.started', { call: { ...call, status: 'executing', result: null, success: null, finished_at: null, execution_time: null, summary: null } })
  }
  for (const call of calls) {
    await wait(700)
    const done = { ...call, finished_at: now() }
    answer.calls.push(done)
    emit(run.id, 'tool_call.finished', { call: done })
    const path = (JSON.parse(call.function.arguments) as { path?: string; content?: string })
    if (call.function.name === 'file_write' && run.project_id) writeFile(run.project_id, path.path!, path.content ?? '')
  }
}

/** Helpers that work for a while beside each other; each is a run of its own. */
async function help(run: Run, answer: { blocks: Message['blocks']; calls: Call[] }): Promise<void> {
  const tasks = ['North', 'South', 'West'].map((name) => ({ name, instruction: `Look at the ${name}` }))
  const call = makeCall('multi_agent', { tasks }, 0, { execution_time: 4 })
  answer.blocks.push({ type: 'tool_call', call_id: call.id })
  emit(run.id, 'tool_call.started', { call: { ...call, status: 'executing', result: null, success: null, finished_at: null, execution_time: null, summary: null } })
  const children = tasks.map((task): Run => ({ ...run, id: newId('run'), kind: 'child', conversation_id: null, parent_run_id: run.id, parent_call_id: call.id, status: 'running', input: task.instruction, title: task.name, created_at: now(), started_at: now() }))
  db.runs.push(...children)
  for (const child of children) {
    emit(run.id, 'child.started', { child_run_id: child.id, call_id: call.id })
    await wait(400)
  }
  for (const [index, child] of children.entries()) {
    await wait(1_500)
    Object.assign(child, { status: index === 2 ? 'failed' : 'completed', finished_at: now() })
    emit(run.id, 'child.finished', { child_run_id: child.id, call_id: call.id })
  }
  const done = { ...call, finished_at: now() }
  answer.calls.push(done)
  emit(run.id, 'tool_call.finished', { call: done })
}

function queuedMessages(conversationId: string): Message[] {
  return db.messages.filter((message) => message.conversation_id === conversationId && message.state === 'queued')
}

export async function play(run: Run, question: Message): Promise<void> {
  const answer = { blocks: [] as Message['blocks'], calls: [] as Call[] }
  db.events.set(run.id, [])
  let parent = question.id
  const word = Object.keys(RUN_STATES).find((known) => question.content.includes(known)) ?? ''
  await wait(200)
  if (word === 'state:queued') return
  Object.assign(run, { status: 'running', started_at: now() })
  emit(run.id, 'run.started', {})
  emit(run.id, 'step.started', { step: 0 })
  const reasoning = await say(run, 'reasoning', 0, `The question is “${question.content.slice(0, 60)}”. I look at the file first and search for context, then I sum up.`, answer.blocks)
  await say(run, 'text', 0, 'I look at the data and at one source.', answer.blocks)
  await act(run, [makeCall('web_search', { query: question.content.slice(0, 40) }, 0, { execution_time: 0.8 }), makeCall('file_read', { path: 'data/sales.csv', limit: 120 }, 0)], answer)
  emit(run.id, 'step.finished', { step: 0 })
  for (const [code, detail] of NOTICES[word] ?? []) {
    emit(run.id, 'run.notice', { code, detail })
    await wait(600)
  }
  if (word === 'state:resumed') emit(run.id, 'run.resumed', { step: 1 })
  if (word === 'state:helpers') await help(run, answer)
  const close = () => {
    const message = finish(run, parent, answer, reasoning)
    emit(run.id, 'message.completed', { message })
    return message
  }
  for (const waiting of cancelled.has(run.id) ? [] : queuedMessages(run.conversation_id!)) {
    const closed = close()
    Object.assign(waiting, { state: 'sent', parent_id: closed.id })
    parent = waiting.id
    Object.assign(answer, { blocks: [], calls: [] })
    emit(run.id, 'message.injected', { message: waiting })
  }
  emit(run.id, 'step.started', { step: 1 })
  await act(run, [makeCall('execute_python', { code: 'print("rows:", 2400)\n48210.50 + 39120.00' }, 1), failedCall('fetch_page', { url: 'https://down.example.org/' }, 1, 'error', 'fetch_failed', 'The server did not answer.', true), makeCall('file_write', { path: 'report.md', content: `# Report\n\n${now()}\n` }, 1)], answer)
  emit(run.id, 'step.finished', { step: 1 })
  if (!ENDS[word]) {
    emit(run.id, 'step.started', { step: 2 })
    await say(run, 'text', 2, ANSWER, answer.blocks)
    emit(run.id, 'step.finished', { step: 2 })
  }
  close()
  const stopped = cancelled.has(run.id)
  const end = stopped ? { status: 'cancelled', stop_reason: 'cancelled', error: null } : (ENDS[word] ?? { status: 'completed', stop_reason: 'completed', error: null })
  Object.assign(run, { ...end, finished_at: now(), step_count: 3 })
  const conversation = db.conversations.find((other) => other.id === run.conversation_id)
  if (conversation) {
    conversation.active_run_id = null
    if (!conversation.title) conversation.title = question.content.slice(0, 48)
  }
  emit(run.id, 'run.finished', { status: run.status, stop_reason: run.stop_reason, error: run.error })
  publish('conversation', run.conversation_id!)
  publish('run', run.id)
}

function finish(run: Run, parent: string, answer: { blocks: Message['blocks']; calls: Call[] }, reasoning: string): Message {
  const texts = answer.blocks.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  const message: Message = {
    id: newId('m'), conversation_id: run.conversation_id!, parent_id: parent, siblings: [], position: db.messages.length, role: 'assistant', state: 'sent', content: texts.join('\n\n'), reasoning,
    blocks: [...answer.blocks], tool_calls: [...answer.calls], attachments: [], model: run.model, usage: { prompt_tokens: 1840, completion_tokens: 420, total_tokens: 2260 }, error: null, run_id: run.id, created_at: now(),
  }
  db.messages.push(message)
  const conversation = db.conversations.find((other) => other.id === run.conversation_id)
  if (conversation) conversation.active_leaf_id = message.id
  return message
}
