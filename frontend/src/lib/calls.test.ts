import { describe, expect, it } from 'vitest'
import { failedCall, makeCall } from '@/mocks/calls'
import { emptyRunView, viewAsMessage } from './runView'
import { callLine, callResult, callState, changedFiles, groupParts, queuePlaces, summarise, timeline, twinNumber } from './calls'

describe('tool calls', () => {
  it('have one of eleven states, so that a reused result never looks like work', () => {
    expect(callState(makeCall('calculator', {}, 0))).toBe('success')
    expect(callState(makeCall('calculator', {}, 0, { skipped: true, duplicate_of: 'c1' }))).toBe('duplicate')
    expect(callState(makeCall('calculator', {}, 0, { cached: true }))).toBe('cached')
    expect(callState(makeCall('calculator', {}, 0, { status: 'permission_denied' }))).toBe('denied')
    expect(callState(makeCall('calculator', {}, 0, { status: 'executing' }))).toBe('running')
  })

  it('are told in one line, with or without a summary', () => {
    expect(callLine(makeCall('calculator', { expression: '1+1' }, 0, { summary: '1+1 = 2' }))).toBe('1+1 = 2')
    expect(callLine(makeCall('file_read', { path: 'a/b.txt' }, 0, { summary: null }))).toBe('a/b.txt')
    expect(callLine(makeCall('execute_python', { code: 'x = 1\nprint(x)' }, 0, { summary: null }))).toBe('x = 1')
    expect(callLine(makeCall('calculator', {}, 0, { summary: null, function: { name: 'calculator', arguments: 'no json' } }))).toBe('')
  })

  it('say why they failed and whether a retry may help', () => {
    expect(callResult(failedCall('fetch_page', {}, 0, 'error', 'fetch_failed', 'No answer', true))).toMatchObject({ error: 'No answer', code: 'fetch_failed', retryable: true, data: undefined })
    expect(callResult(makeCall('x', {}, 0, { result: 'cut {' }))).toMatchObject({ error: '', data: undefined })
  })

  it('fold with their neighbours, in order', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((id) => makeCall('calculator', {}, 0, { id }))
    const byId = (id: string) => [a, b, c].find((call) => call!.id === id)
    const blocks = [{ type: 'text', text: 'one' }, { type: 'tool_call', callId: 'a' }, { type: 'tool_call', callId: 'b' }, { type: 'text', text: ' ' }, { type: 'tool_call', callId: 'c' }]
    expect(groupParts(blocks, byId).map((part) => (part.kind === 'calls' ? part.calls.length : part.text))).toEqual(['one', 3])
  })

  it('and the texts between them have the same keys while an answer is written and once it is stored', () => {
    const call = makeCall('calculator', {}, 0, { id: 'a' })
    const live = { ...emptyRunView('r'), calls: { a: call }, blocks: [{ key: 'text:0', type: 'text' as const, step: 0, text: 'one', points: 3 }, { key: 'call:a', type: 'tool_call' as const, callId: 'a' }, { key: 'text:1', type: 'text' as const, step: 1, text: 'two', points: 3 }] }
    const stored = [{ type: 'text', text: 'one' }, { type: 'tool_call', callId: 'a' }, { type: 'text', text: 'two' }]
    const shown = viewAsMessage(live).blocks.map((block) => (block.type === 'tool_call' ? { type: block.type, callId: block.call_id } : block))
    expect(groupParts(shown, () => call)).toEqual(groupParts(stored, () => call))
    expect(groupParts(stored, () => call).map((part) => part.key)).toEqual(['text:0', 'calls:0', 'text:1'])
  })

  it('sum up as the time they took together, not one after the other', () => {
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
    const calls = [makeCall('a', {}, 0, { started_at: at(0), finished_at: at(4) }), makeCall('b', {}, 0, { started_at: at(1), finished_at: at(3) })]
    expect(summarise(calls)).toMatchObject({ count: 2, failed: 0, seconds: 4, live: false })
    expect(timeline(calls)?.map(({ from, width }) => [from, width])).toEqual([[0, 1], [0.25, 0.5]])
    expect(timeline([calls[0]!, makeCall('c', {}, 0, { started_at: at(5), finished_at: at(6) })])).toBeNull()
  })
})

describe('neighbouring calls', () => {
  it('know which of them a repeated one repeats, and who waits where', () => {
    const calls = [makeCall('a', {}, 0, { id: 'x' }), makeCall('a', {}, 0, { id: 'y', skipped: true, duplicate_of: 'x' }), makeCall('b', {}, 0, { id: 'z', status: 'pending' })]
    expect(calls.map((call) => twinNumber(call, calls))).toEqual([null, 1, null])
    expect([...queuePlaces(calls)]).toEqual([['z', 1]])
  })

  it('share a time line while one of them still runs', () => {
    const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()
    const calls = [makeCall('a', {}, 0, { started_at: at(0), finished_at: at(2) }), makeCall('b', {}, 0, { started_at: at(1), finished_at: null, status: 'executing' })]
    expect(timeline(calls, Date.parse(at(4)))?.map(({ from, width }) => [from, width])).toEqual([[0, 0.5], [0.25, 0.75]])
  })

  it('count each file that they changed once', () => {
    const calls = [makeCall('file_write', { path: 'a' }, 0), makeCall('file_edit', { path: 'a' }, 1), makeCall('file_delete', { path: 'b' }, 1), makeCall('file_read', { path: 'c' }, 1), failedCall('file_write', { path: 'd' }, 1, 'error', 'file_error', 'No.', false)]
    expect(changedFiles(calls)).toBe(2)
  })
})
