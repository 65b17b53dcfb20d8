import { describe, expect, it } from 'vitest'
import type { Call, Run, Step } from '@/api/types'
import { applyToSteps, barOf, failuresOf, NO_FILTER, slowestCall, ticks, traceRows, traceSpan, zoomed } from './trace'

const T0 = Date.parse('2026-01-01T00:00:00.000Z')
const iso = (ms: number) => new Date(T0 + ms).toISOString()
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }

const call = (id: string, step: number, from: number, to: number | null, more: Partial<Call> = {}): Call => ({
  id, type: 'function', function: { name: 'calculator', arguments: '{"expression":"1+1"}' }, result: to === null ? null : '{"success":true,"data":2}', success: to === null ? null : true, skipped: false,
  execution_time: to === null ? null : (to - from) / 1000, status: to === null ? 'executing' : 'success', cached: false, duplicate_of: null, cached_at: null, expires_at: null, attempts: 1, degraded: null, summary: null,
  queued_ms: 0, result_truncated: false, result_size: 0, provider_id: id, step, started_at: iso(from), finished_at: to === null ? null : iso(to), ...more,
})
const step = (index: number, from: number, to: number | null, calls: Call[], more: Partial<Step> = {}): Step => ({
  index, status: to === null ? 'running' : 'completed', reasoning: '', text: '', finish_reason: null, model: 'm', model_calls: 1, usage, tool_calls: calls, started_at: iso(from), finished_at: to === null ? null : iso(to), ...more,
})
const run = (more: Partial<Run> = {}): Run =>
  ({ id: 'r', kind: 'chat', status: 'completed', stop_reason: 'completed', input: '', output: null, error: null, usage, step_count: 1, created_at: iso(0), started_at: iso(0), finished_at: iso(1000), ...more }) as Run

const steps = [
  step(0, 0, 400, [call('a', 0, 100, 300, { queued_ms: 50 }), call('b', 0, 100, 400, { status: 'error', success: false })]),
  step(1, 400, 1000, [call('c', 1, 500, 900, { cached: true })]),
]

describe('rows of a trace', () => {
  it('stand in the order run, step, calls, each with its place among its siblings', () => {
    const rows = traceRows(run(), steps, new Set())
    expect(rows.map((row) => row.key)).toEqual(['run', 'step:0', 'call:a', 'call:b', 'step:1', 'call:c'])
    expect(rows.map((row) => row.level)).toEqual([1, 2, 3, 3, 2, 3])
    expect(rows[3]).toMatchObject({ place: 2, siblings: 2, bad: true })
    expect(rows[5]).toMatchObject({ state: 'cached', bad: false })
  })

  it('split a call into waiting and work, and a step into the model and its tools', () => {
    const rows = traceRows(run(), steps, new Set())
    expect(rows[2]).toMatchObject({ start: T0 + 100, workFrom: T0 + 150, end: T0 + 300 })
    expect(rows[1]).toMatchObject({ start: T0, modelTo: T0 + 100, end: T0 + 400 })
  })

  it('hide what is folded away', () => {
    expect(traceRows(run(), steps, new Set(['step:0'])).map((row) => row.key)).toEqual(['run', 'step:0', 'step:1', 'call:c'])
    expect(traceRows(run(), steps, new Set(['run']))).toHaveLength(1)
  })

  it('show the hits of a filter under their step, folded or not', () => {
    const failed = traceRows(run(), steps, new Set(['step:0']), { ...NO_FILTER, state: 'failed' })
    expect(failed.map((row) => row.key)).toEqual(['run', 'step:0', 'call:b'])
    expect(traceRows(run(), steps, new Set(), { ...NO_FILTER, state: 'reused' }).map((row) => row.key)).toEqual(['run', 'step:1', 'call:c'])
    expect(traceRows(run(), steps, new Set(), { ...NO_FILTER, kind: 'model' }).map((row) => row.key)).toEqual(['run', 'step:0', 'step:1'])
    expect(traceRows(run(), steps, new Set(), { ...NO_FILTER, text: 'nowhere' })).toHaveLength(1)
  })

  it('are made of 5,000 calls in one pass', () => {
    const many = Array.from({ length: 50 }, (_, n) => step(n, n, n + 1, Array.from({ length: 100 }, (_, m) => call(`${n}-${m}`, n, n, n + 1))))
    expect(traceRows(run(), many, new Set())).toHaveLength(1 + 50 + 5000)
  })
})

describe('the time axis', () => {
  it('ends now while the run goes on, and never before its last call', () => {
    const live = run({ status: 'running', finished_at: null })
    expect(traceSpan(live, steps, T0 + 5000)).toEqual({ from: T0, to: T0 + 5000 })
    expect(traceSpan(run({ finished_at: iso(100) }), steps, 0).to).toBe(T0 + 1000)
  })

  it('places bars within the window and leaves out what lies outside', () => {
    const window = { from: 100, to: 200 }
    expect(barOf(150, 175, window)).toEqual({ left: 0.5, width: 0.25 })
    expect(barOf(50, 300, window)).toEqual({ left: 0, width: 1 })
    expect(barOf(0, 50, window)).toBeNull()
    expect(barOf(250, 260, window)).toBeNull()
  })

  it('has round marks only', () => {
    expect(ticks({ from: T0, to: T0 + 1000 }, T0, 5)).toEqual([0, 200, 400, 600, 800, 1000])
    expect(ticks({ from: T0 + 130, to: T0 + 171 }, T0, 4)).toEqual([140, 160])
  })

  it('zooms around a time, and never leaves the run', () => {
    const whole = { from: 0, to: 1000 }
    expect(zoomed(whole, whole, 2, 500)).toEqual({ from: 250, to: 750 })
    expect(zoomed(whole, whole, 2, 0)).toEqual({ from: 0, to: 500 })
    expect(zoomed(whole, { from: 250, to: 750 }, 0.25, 500)).toEqual(whole)
    const closest = zoomed(whole, { from: 0, to: 2 }, 4, 1)
    expect(closest.to - closest.from).toBeCloseTo(1000 / 512)
  })
})

describe('jumps', () => {
  it('find the slowest call and every failure in order', () => {
    expect(slowestCall(steps)).toBe('call:c')
    expect(slowestCall([])).toBeNull()
    expect(failuresOf([step(0, 0, 1, [], { status: 'failed' }), ...steps])).toEqual(['step:0', 'call:b'])
  })
})

describe('a live trace', () => {
  const apply = (from: Step[], events: [string, Record<string, unknown>][]) => events.reduce((known, [type, data]) => applyToSteps(known, type, data, iso(0)), from)

  it('grows by the run’s events', () => {
    const grown = apply([], [['step.started', { step: 0 }], ['tool_call.started', { call: call('a', 0, 1, null) }], ['tool_call.finished', { call: call('a', 0, 1, 2) }], ['step.finished', { step: 0 }]])
    expect(grown).toHaveLength(1)
    expect(grown[0]).toMatchObject({ index: 0, status: 'completed' })
    expect(grown[0]!.tool_calls.map((known) => known.status)).toEqual(['success'])
  })

  it('is not set back by events that are told again', () => {
    const again = apply(steps, [['step.started', { step: 0 }], ['tool_call.started', { call: call('a', 0, 100, null) }], ['step.finished', { step: 0 }], ['text.delta', { step: 0, text: 'x' }]])
    expect(again).toEqual(steps)
  })
})
