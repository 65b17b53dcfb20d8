import type { Block, Call } from '@/api/types'

/** Reading tool calls: their arguments, results, states and groups. */

export type CallState = 'pending' | 'running' | 'approval' | 'success' | 'error' | 'timeout' | 'denied' | 'cancelled' | 'unknown' | 'duplicate' | 'cached'

const STATES: Record<Call['status'], CallState> = {
  pending: 'pending', executing: 'running', waiting_approval: 'approval', success: 'success', error: 'error', timeout: 'timeout', permission_denied: 'denied', cancelled: 'cancelled', unknown: 'unknown',
}
const BAD: ReadonlySet<CallState> = new Set(['error', 'timeout', 'denied', 'unknown'])
const LIVE: ReadonlySet<CallState> = new Set(['pending', 'running', 'approval'])

export function callState(call: Call): CallState {
  if (call.status === 'success' && call.skipped) return 'duplicate'
  if (call.status === 'success' && call.cached) return 'cached'
  return STATES[call.status] ?? 'unknown'
}
export const isBad = (state: CallState): boolean => BAD.has(state)
export const isLive = (state: CallState): boolean => LIVE.has(state)

function parse(text: string | null | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

export function callArguments(call: Call): Record<string, unknown> {
  const parsed = parse(call.function.arguments)
  return parsed && typeof parsed === 'object' ? (parsed as Record<string, unknown>) : {}
}

export interface CallResult {
  /** The tool's data; undefined when there is no result yet, or it was cut and is no JSON any more. */
  data: unknown
  error: string
  code: string
  retryable: boolean | null
  suggestion: string
}

export function callResult(call: Call): CallResult {
  const parsed = parse(call.result) as Record<string, unknown> | undefined
  const text = (value: unknown) => (typeof value === 'string' ? value : '')
  return {
    data: parsed && 'data' in parsed ? parsed.data : parsed && !('error' in parsed && parsed.success === false) ? parsed : undefined,
    error: text(parsed?.error), code: text(parsed?.code), suggestion: text(parsed?.suggestion),
    retryable: typeof parsed?.retryable === 'boolean' ? parsed.retryable : null,
  }
}

// The argument that says most about a call, for those with no summary yet.
const TELLING: Record<string, string> = {
  web_search: 'query', fetch_page: 'url', calculator: 'expression', file_read: 'path', file_write: 'path', file_delete: 'path', file_list: 'path', file_exists: 'path', file_mkdir: 'path', file_edit: 'path',
  file_move: 'path', file_search: 'query', get_weather: 'city', json_process: 'operation', text_process: 'operation', execute_python: 'code',
}
const LINE_CHARS = 120

/** One human line about a call: the tool's own summary, else its telling argument. */
export function callLine(call: Call): string {
  if (call.summary) return call.summary
  const args = callArguments(call)
  const told = args[TELLING[call.function.name] ?? ''] ?? Object.values(args).find((value) => typeof value === 'string')
  return String(told ?? '').trim().split('\n')[0]!.slice(0, LINE_CHARS)
}

/** Seconds, or null while it runs. */
export function callSeconds(call: Call): number | null {
  return typeof call.execution_time === 'number' && !isLive(callState(call)) ? call.execution_time : null
}

export type Part = { kind: 'text' | 'reasoning'; key: string; text: string; step?: number; seconds?: number } | { kind: 'calls'; key: string; calls: Call[] }

/**
 * Neighbouring calls become one part, so that they can fold together. Keys count the parts of a kind: an answer has the
 * same ones while it is written and once it is stored.
 */
export function groupParts(blocks: { type: string; text?: string; callId?: string; step?: number; seconds?: number }[], calls: (id: string) => Call | undefined): Part[] {
  const parts: Part[] = []
  const numbers: Record<string, number> = {}
  const keyOf = (kind: string) => `${kind}:${(numbers[kind] = (numbers[kind] ?? -1) + 1)}`
  for (const block of blocks) {
    if (block.type === 'tool_call') {
      const call = calls(block.callId!)
      if (!call) continue
      const last = parts.at(-1)
      if (last?.kind === 'calls') last.calls.push(call)
      else parts.push({ kind: 'calls', key: keyOf('calls'), calls: [call] })
    } else if (block.text?.trim()) parts.push({ kind: block.type as 'text' | 'reasoning', key: keyOf(block.type), text: block.text, step: block.step, seconds: block.seconds })
  }
  return parts
}

/** The parts of a stored answer. */
export function partsOf(blocks: Block[], calls: Call[]): Part[] {
  const byId = new Map(calls.map((call) => [call.id, call]))
  return groupParts(blocks.map((block) => (block.type === 'tool_call' ? { type: block.type, callId: block.call_id } : block)), (id) => byId.get(id))
}

export interface CallSummary {
  count: number
  failed: number
  seconds: number
  live: boolean
}

/** Wall time from the first start to the last end where the times are known, else the sum. */
export function summarise(calls: Call[]): CallSummary {
  const starts = calls.map((call) => Date.parse(call.started_at ?? '')).filter(Number.isFinite)
  const ends = calls.map((call) => Date.parse(call.finished_at ?? '')).filter(Number.isFinite)
  const wall = starts.length === calls.length && ends.length === calls.length ? (Math.max(...ends) - Math.min(...starts)) / 1000 : 0
  const sum = calls.reduce((total, call) => total + (callSeconds(call) ?? 0), 0)
  return { count: calls.length, failed: calls.filter((call) => isBad(callState(call))).length, seconds: wall > 0 ? wall : sum, live: calls.some((call) => isLive(callState(call))) }
}

/** Calls that ran, or run, side by side, as fractions of the whole time: for the bracket and its mini timeline. */
export function timeline(calls: Call[], now = Date.now()): { id: string; from: number; width: number }[] | null {
  const end = (call: Call) => (isLive(callState(call)) ? now : Date.parse(call.finished_at ?? ''))
  const spans = calls.map((call) => ({ id: call.id, start: Date.parse(call.started_at ?? ''), end: end(call) }))
  if (spans.length < 2 || spans.some((span) => !Number.isFinite(span.start) || !Number.isFinite(span.end))) return null
  const begin = Math.min(...spans.map((span) => span.start))
  const total = Math.max(...spans.map((span) => span.end)) - begin
  const overlap = spans.some((a) => spans.some((b) => a.id !== b.id && a.start < b.end && b.start < a.end))
  if (!overlap || total < 50) return null
  return spans.map((span) => ({ id: span.id, from: Math.min(0.98, (span.start - begin) / total), width: Math.max(0.02, (span.end - span.start) / total) }))
}

/** Which of its neighbours a call repeats, counted from one; null where that call is not among them. */
export function twinNumber(call: Call, calls: Call[]): number | null {
  const at = calls.findIndex((other) => other.id === call.duplicate_of)
  return at < 0 ? null : at + 1
}

/** Places in the queue of those that wait, counted from one. */
export const queuePlaces = (calls: Call[]): Map<string, number> => new Map(calls.filter((call) => call.status === 'pending').map((call, index) => [call.id, index + 1]))

const WRITING: ReadonlySet<string> = new Set(['file_write', 'file_edit', 'file_delete', 'file_move', 'file_mkdir'])
/** How many paths these calls changed, so that a person can look at them and take them back. */
export function changedFiles(calls: Call[]): number {
  const paths = new Set<string>()
  for (const call of calls) {
    if (call.success !== true || call.skipped || call.cached) continue
    if (WRITING.has(call.function.name)) paths.add(String(callArguments(call).path ?? call.id))
  }
  return paths.size
}
