import type { Block, Call, Message, RunError, RunStatus, Step } from '@/api/types'

/**
 * What a run looks like so far, made from its events. Pure: every event gives a new view, and parts that did not
 * change stay the same objects. Lost, doubled and reordered events end in the same view as a clean stream.
 */

export interface RunEvent {
  seq: number
  type: string
  data: Record<string, unknown>
}

/** Text of a step; `points` is its length in code points, the unit of the events' offsets. */
export interface TextBlock {
  key: string
  type: 'reasoning' | 'text'
  step: number
  text: string
  points: number
}
export interface CallBlock {
  key: string
  type: 'tool_call'
  callId: string
}
export type LiveBlock = TextBlock | CallBlock

export interface Notice {
  code: string
  detail: string
  /** The message that a long conversation now begins with for the model. */
  first?: string
  /** How many messages come before that one. */
  leftOut?: number
}

export interface RunView {
  runId: string
  seq: number
  status: RunStatus
  stopReason: string | null
  error: RunError | null
  step: number
  /** The answer that is being written. */
  blocks: LiveBlock[]
  calls: Record<string, Call>
  /** What the run has completed: answers, and user messages that were taken in between. */
  messages: Message[]
  notices: Notice[]
  resumedAtStep: number | null
  children: Record<string, string[]>
}

export type Outcome = 'applied' | 'duplicate' | 'gap'

const DELTAS: Record<string, 'reasoning' | 'text'> = { 'text.delta': 'text', 'reasoning.delta': 'reasoning' }

export const emptyRunView = (runId: string): RunView => ({
  runId, seq: 0, status: 'queued', stopReason: null, error: null, step: 0, blocks: [], calls: {}, messages: [], notices: [], resumedAtStep: null, children: {},
})

const stepOf = (value: unknown): number => (typeof value === 'number' ? value : Number((value as { index?: number } | null)?.index ?? 0))
const without = (messages: Message[], id: string) => messages.filter((message) => message.id !== id)

/** The rest of a delta that the block does not have yet; null if there is a hole before it. */
function missingPart(have: number, offset: number, text: string): string | null {
  if (offset > have) return null
  if (offset === have) return text
  return [...text].slice(have - offset).join('')
}

function applyDelta(view: RunView, type: 'reasoning' | 'text', data: Record<string, unknown>): RunView | null {
  const step = stepOf(data.step)
  const key = `${type}:${step}`
  const at = view.blocks.findIndex((block) => block.key === key)
  const block = at >= 0 ? (view.blocks[at] as TextBlock) : { key, type, step, text: '', points: 0 }
  const added = missingPart(block.points, Number(data.offset ?? block.points), String(data.text ?? ''))
  if (added === null) return null
  if (!added) return view
  const grown: TextBlock = { ...block, text: block.text + added, points: block.points + [...added].length }
  const blocks = at >= 0 ? view.blocks.with(at, grown) : [...view.blocks, grown]
  return { ...view, blocks, step }
}

function applyCall(view: RunView, call: Call): RunView {
  const known = view.calls[call.id]
  const blocks = known ? view.blocks : [...view.blocks, { key: `call:${call.id}`, type: 'tool_call' as const, callId: call.id }]
  return { ...view, blocks, calls: { ...view.calls, [call.id]: { ...known, ...call } } }
}

/** An answer is complete, or a message came in between: what is written from now on is a new answer. */
function applyMessage(view: RunView, message: Message): RunView {
  const rest = message.role === 'assistant' ? [] : view.blocks
  return { ...view, blocks: rest, messages: [...without(view.messages, message.id), message] }
}

function applyChild(view: RunView, data: Record<string, unknown>): RunView {
  const callId = String(data.call_id)
  const known = view.children[callId] ?? []
  const child = String(data.child_run_id)
  return known.includes(child) ? view : { ...view, children: { ...view.children, [callId]: [...known, child] } }
}

/** A step that begins anew (after a restart, or another try of the model) says its text again from the start. */
function beginStep(view: RunView, step: number): RunView {
  const again = view.blocks.some((block) => block.type !== 'tool_call' && block.step >= step && block.points)
  const blank = (block: LiveBlock): LiveBlock => (block.type !== 'tool_call' && block.step >= step ? { ...block, text: '', points: 0 } : block)
  return { ...view, status: 'running', step, blocks: again ? view.blocks.map(blank) : view.blocks }
}

function applyOther(view: RunView, type: string, data: Record<string, unknown>): RunView {
  switch (type) {
    case 'run.started':
      return { ...view, status: 'running' }
    case 'step.started':
      return beginStep(view, stepOf(data.step))
    case 'tool_call.started':
    case 'tool_call.finished':
      return applyCall(view, data.call as Call)
    case 'message.completed':
    case 'message.injected':
      return applyMessage(view, data.message as Message)
    case 'child.started':
    case 'child.finished':
      return applyChild(view, data)
    case 'run.notice':
      return { ...view, notices: [...view.notices, { code: String(data.code), detail: String(data.detail ?? ''), ...(typeof data.first === 'string' ? { first: data.first } : {}), ...(data.left_out ? { leftOut: Number(data.left_out) } : {}) }] }
    case 'run.resumed':
      return { ...view, status: 'running', resumedAtStep: stepOf(data.step) }
    case 'approval.required':
      return { ...view, status: 'waiting_approval' }
    case 'run.finished':
      return { ...view, status: data.status as RunStatus, stopReason: (data.stop_reason as string | null) ?? null, error: (data.error as RunError | null) ?? null }
    default:
      return view
  }
}

/** One event that is next in line; null when it leaves a hole in a text. */
export function applyEvent(view: RunView, event: RunEvent): RunView | null {
  const delta = DELTAS[event.type]
  const next = delta ? applyDelta(view, delta, event.data) : applyOther(view, event.type, event.data)
  return next && { ...next, seq: event.seq }
}

/**
 * Takes events as they arrive. An early event waits for those before it; `take` says "gap" then, and the caller asks
 * the server again from `view.seq`. After `reopen` (a new connection) the first event is right whatever its number,
 * since deltas may have been folded into one that keeps the last number.
 */
export class RunReducer {
  view: RunView
  private early = new Map<number, RunEvent>()
  private anyNext = true

  constructor(runId: string, view?: RunView) {
    this.view = view ?? emptyRunView(runId)
  }

  reopen(): void {
    this.early.clear()
    this.anyNext = true
  }

  take(event: RunEvent): Outcome {
    if (event.seq <= this.view.seq) return 'duplicate'
    const next = this.isNext(event) ? applyEvent(this.view, event) : null
    if (!next) {
      this.early.set(event.seq, event)
      return 'gap'
    }
    this.view = next
    this.anyNext = false
    this.drain()
    return this.early.size ? 'gap' : 'applied'
  }

  private isNext(event: RunEvent): boolean {
    // A folded delta has the number of its last part; its offset shows whether it fits.
    return this.anyNext || event.seq === this.view.seq + 1 || (event.type in DELTAS && this.view.blocks.some((block) => block.key === `${DELTAS[event.type]}:${stepOf(event.data.step)}`))
  }

  private drain(): void {
    for (;;) {
      const event = this.early.get(this.view.seq + 1)
      const next = event && applyEvent(this.view, event)
      if (!event || !next) break
      this.early.delete(event.seq)
      this.view = next
    }
    for (const seq of this.early.keys()) if (seq <= this.view.seq) this.early.delete(seq)
  }
}

/** The answer that is being written, in the form of one that is stored. */
export function viewAsMessage(view: RunView): Message {
  const blocks = view.blocks.map((block): Block => (block.type === 'tool_call' ? { type: block.type, call_id: block.callId } : { type: block.type, text: block.text }))
  const content = view.blocks.find((block): block is TextBlock => block.type === 'text')?.text ?? ''
  return {
    id: '', conversation_id: '', parent_id: null, siblings: [], position: 0, role: 'assistant', state: 'sent', content, reasoning: '', blocks,
    tool_calls: Object.values(view.calls), attachments: [], model: '', usage: null, error: null, run_id: view.runId, created_at: '',
  }
}

/** The view of a run whose events cannot be had, from its stored steps. */
export function viewFromSteps(view: RunView, steps: Step[], status: RunStatus): RunView {
  const done = new Set(view.messages.flatMap((message) => message.tool_calls.map((call) => call.id)))
  const fresh = view.messages.length ? steps.filter((step) => step.tool_calls.some((call) => !done.has(call.id))) : steps
  const blocks: LiveBlock[] = fresh.flatMap((step) => [
    ...(['reasoning', 'text'] as const).filter((type) => step[type]).map((type): TextBlock => ({ key: `${type}:${step.index}`, type, step: step.index, text: step[type], points: [...step[type]].length })),
    ...step.tool_calls.map((call): CallBlock => ({ key: `call:${call.id}`, type: 'tool_call', callId: call.id })),
  ])
  const calls = Object.fromEntries(steps.flatMap((step) => step.tool_calls.map((call) => [call.id, call])))
  return { ...view, status, blocks, calls, step: steps.at(-1)?.index ?? view.step }
}
