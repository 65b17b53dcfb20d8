import type { Call, Run, RunStatus, Step } from '@/api/types'
import { callLine, callState, isBad, isLive, type CallState } from './calls'

/** A run as rows on one time axis: run, its steps, their tool calls. Pure; one pass over steps and calls. */

export type RowState = CallState | RunStatus | Step['status']

export interface TraceRow {
  key: string
  kind: 'run' | 'step' | 'call'
  level: 1 | 2 | 3
  step: number | null
  state: RowState
  bad: boolean
  /** Milliseconds on the clock; `end` is null while it goes on. */
  start: number | null
  end: number | null
  /** Where waiting for a thread ended and the work began. */
  workFrom: number | null
  /** Where the model's part of a step ended. */
  modelTo: number | null
  call?: Call
  source?: Step
  children: number
  open: boolean
  place: number
  siblings: number
}

export interface TraceFilter {
  text: string
  state: 'all' | 'failed' | 'live' | 'reused'
  kind: 'all' | 'model' | 'tool'
}
export const NO_FILTER: TraceFilter = { text: '', state: 'all', kind: 'all' }

export interface Span {
  from: number
  to: number
}

export const callKey = (id: string): string => `call:${id}`
export const stepKey = (index: number): string => `step:${index}`
export const RUN_KEY = 'run'

function at(iso: string | null | undefined): number | null {
  const time = Date.parse(iso ?? '')
  return Number.isFinite(time) ? time : null
}

const STEP_BAD: Step['status'] = 'failed'
const RUN_BAD: readonly RunStatus[] = ['failed', 'timeout', 'max_steps']

function callRow(call: Call, place: number, siblings: number): TraceRow {
  const start = at(call.started_at)
  const state = callState(call)
  const end = isLive(state) ? null : (at(call.finished_at) ?? start)
  const queued = Math.max(0, call.queued_ms ?? 0)
  const workFrom = start === null ? null : Math.min(start + queued, end ?? Infinity)
  return { key: callKey(call.id), kind: 'call', level: 3, step: call.step, state, bad: isBad(state), start, end, workFrom, modelTo: null, call, children: 0, open: false, place, siblings }
}

function stepRow(step: Step, place: number, siblings: number): TraceRow {
  const end = at(step.finished_at)
  const firstCall = step.tool_calls.map((call) => at(call.started_at)).reduce<number | null>((least, time) => (time !== null && (least === null || time < least) ? time : least), null)
  const bad = step.status === STEP_BAD
  return { key: stepKey(step.index), kind: 'step', level: 2, step: step.index, state: step.status, bad, start: at(step.started_at), end, workFrom: null, modelTo: firstCall ?? end, source: step, children: step.tool_calls.length, open: true, place, siblings }
}

function runRow(run: Run, steps: Step[]): TraceRow {
  return {
    key: RUN_KEY, kind: 'run', level: 1, step: null, state: run.status, bad: RUN_BAD.includes(run.status), start: at(run.started_at) ?? at(run.created_at), end: at(run.finished_at), workFrom: null,
    modelTo: null, children: steps.length, open: true, place: 1, siblings: 1,
  }
}

function matches(row: TraceRow, filter: TraceFilter): boolean {
  if (filter.kind !== 'all' && row.kind !== (filter.kind === 'model' ? 'step' : 'call')) return false
  if (filter.state === 'failed' && !row.bad) return false
  if (filter.state === 'live' && row.end !== null) return false
  if (filter.state === 'reused' && row.state !== 'cached' && row.state !== 'duplicate') return false
  const text = filter.text.trim().toLowerCase()
  if (!text) return true
  const words = row.call ? `${row.call.function.name} ${callLine(row.call)}` : `${row.source?.model ?? ''} ${row.source?.text ?? ''}`
  return words.toLowerCase().includes(text)
}

export const isFiltered = (filter: TraceFilter): boolean => Boolean(filter.text.trim()) || filter.state !== 'all' || filter.kind !== 'all'

/** The visible rows. Folded rows hide what is under them; with a filter, hits stand under their step, unfolded. */
export function traceRows(run: Run, steps: Step[], folded: ReadonlySet<string>, filter: TraceFilter = NO_FILTER): TraceRow[] {
  const filtered = isFiltered(filter)
  const shown = (key: string) => filtered || !folded.has(key)
  const rows: TraceRow[] = [{ ...runRow(run, steps), open: shown(RUN_KEY) }]
  if (!shown(RUN_KEY)) return rows
  steps.forEach((step, index) => {
    const row = { ...stepRow(step, index + 1, steps.length), open: shown(stepKey(step.index)) }
    const calls = step.tool_calls.map((call, place) => callRow(call, place + 1, step.tool_calls.length)).filter((call) => !filtered || matches(call, filter))
    if (filtered && !calls.length && !matches(row, filter)) return
    rows.push(row)
    if (row.open) rows.push(...calls)
  })
  return rows
}

/** The whole time of a run; a live one ends now. Never empty, so that fractions can be made of it. */
export function traceSpan(run: Run, steps: Step[], now: number): Span {
  const from = at(run.started_at) ?? at(run.created_at) ?? now
  let to = at(run.finished_at) ?? now
  for (const step of steps) for (const time of [at(step.finished_at), ...step.tool_calls.map((call) => at(call.finished_at))]) if (time !== null && time > to) to = time
  return { from, to: Math.max(to, from + 1) }
}

export interface Bar {
  /** Shares of the window, from 0 to 1. */
  left: number
  width: number
}

/** A stretch of time within a window; null when it lies outside. */
export function barOf(from: number, to: number, window: Span): Bar | null {
  const size = window.to - window.from
  const left = Math.max(0, (from - window.from) / size)
  const right = Math.min(1, (to - window.from) / size)
  return right < 0 || left > 1 ? null : { left: Math.min(left, 1), width: Math.max(0, right - left) }
}

const NICE = [1, 2, 5]

/** Round times within a window, about `most` of them, in milliseconds since the run's start. */
export function ticks(window: Span, begin: number, most = 6): number[] {
  const wanted = (window.to - window.from) / most
  const power = 10 ** Math.floor(Math.log10(Math.max(wanted, 1)))
  const step = NICE.map((nice) => nice * power).find((size) => size >= wanted) ?? 10 * power
  const first = Math.ceil((window.from - begin) / step) * step
  const found: number[] = []
  for (let time = first; time <= window.to - begin; time += step) found.push(time)
  return found
}

export const MOST_ZOOM = 512

/** The window `factor` times as close (or as far), around a time. Never leaves the whole span. */
export function zoomed(whole: Span, window: Span, factor: number, around: number): Span {
  const size = Math.min(whole.to - whole.from, Math.max((whole.to - whole.from) / MOST_ZOOM, (window.to - window.from) / factor))
  const from = Math.min(Math.max(whole.from, around - size / 2), whole.to - size)
  return { from, to: from + size }
}

/** The call that took longest. */
export function slowestCall(steps: Step[]): string | null {
  let best: { id: string; seconds: number } | null = null
  for (const step of steps) for (const call of step.tool_calls) if (!best || (call.execution_time ?? 0) > best.seconds) best = { id: call.id, seconds: call.execution_time ?? 0 }
  return best && callKey(best.id)
}

/** Keys of everything that failed, in order. */
export function failuresOf(steps: Step[]): string[] {
  return steps.flatMap((step) => [...(step.status === STEP_BAD ? [stepKey(step.index)] : []), ...step.tool_calls.filter((call) => isBad(callState(call))).map((call) => callKey(call.id))])
}

const emptyStep = (index: number, now: string): Step => ({
  index, status: 'running', reasoning: '', text: '', finish_reason: null, model: '', model_calls: 0, usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, tool_calls: [], started_at: now, finished_at: null,
})

function changed(steps: Step[], index: number, now: string, change: (step: Step) => Step): Step[] {
  const place = steps.findIndex((step) => step.index === index)
  if (place >= 0) return steps.with(place, change(steps[place]!))
  return [...steps, change(emptyStep(index, now))].sort((a, b) => a.index - b.index)
}

function withCall(step: Step, call: Call): Step {
  const place = step.tool_calls.findIndex((other) => other.id === call.id)
  if (place < 0) return { ...step, tool_calls: [...step.tool_calls, call] }
  // An event told again never makes a finished call unfinished.
  const known = step.tool_calls[place]!
  return isLive(callState(call)) && !isLive(callState(known)) ? step : { ...step, tool_calls: step.tool_calls.with(place, call) }
}

/** The steps after one more event of the run; the same array if it does not matter here. */
export function applyToSteps(steps: Step[], type: string, data: Record<string, unknown>, now: string): Step[] {
  const index = Number(data.step ?? 0)
  switch (type) {
    case 'step.started':
      return steps.some((step) => step.index === index) ? steps : changed(steps, index, now, (step) => step)
    case 'tool_call.started':
    case 'tool_call.finished': {
      const call = data.call as Call
      return changed(steps, call.step, now, (step) => withCall(step, call))
    }
    case 'step.finished':
      return changed(steps, index, now, (step) => (step.finished_at ? step : { ...step, status: 'completed', finished_at: now }))
    default:
      return steps
  }
}
