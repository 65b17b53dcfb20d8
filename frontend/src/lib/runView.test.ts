import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Call, Message } from '@/api/types'
import { RunReducer, type RunEvent, type RunView, type TextBlock } from './runView'

const call = (id: string, status: Call['status']) => ({ id, type: 'function', function: { name: 'calculator', arguments: '{}' }, status }) as Call
const message = (id: string, role: Message['role']) => ({ id, role, tool_calls: [] as Call[] }) as Message

function log(...events: [string, Record<string, unknown>][]): RunEvent[] {
  return events.map(([type, data], index) => ({ seq: index + 1, type, data }))
}
const STREAM = log(
  ['run.started', {}],
  ['step.started', { step: 0 }],
  ['reasoning.delta', { step: 0, offset: 0, text: 'Let me ' }],
  ['reasoning.delta', { step: 0, offset: 7, text: 'see 👩‍🔬' }],
  ['text.delta', { step: 0, offset: 0, text: '你好 😀' }],
  ['text.delta', { step: 0, offset: 4, text: ', a' }],
  ['text.delta', { step: 0, offset: 7, text: ' sum:' }],
  ['tool_call.started', { call: call('c1', 'executing') }],
  ['tool_call.finished', { call: call('c1', 'success') }],
  ['step.finished', { step: 0 }],
  ['step.started', { step: 1 }],
  ['text.delta', { step: 1, offset: 0, text: 'It is ' }],
  ['text.delta', { step: 1, offset: 6, text: '4.' }],
  ['step.finished', { step: 1 }],
)
const END = log(...STREAM.map((event): [string, Record<string, unknown>] => [event.type, event.data]), ['message.completed', { message: message('m1', 'assistant') }], ['run.finished', { status: 'completed', stop_reason: 'completed', error: null }])

function play(events: RunEvent[]): RunReducer {
  const reducer = new RunReducer('r1')
  events.forEach((event) => reducer.take(event))
  return reducer
}
const texts = (view: RunView) => view.blocks.map((block) => (block.type === 'tool_call' ? block.callId : block.text))
const clean = play(STREAM).view

describe('a run as its events tell it', () => {
  it('keeps the order in which things happened', () => {
    expect(texts(clean)).toEqual(['Let me see 👩‍🔬', '你好 😀, a sum:', 'c1', 'It is 4.'])
    expect(clean.calls.c1!.status).toBe('success')
    expect(clean.step).toBe(1)
  })

  it('counts offsets in code points, not in UTF-16 units', () => {
    expect((clean.blocks[1] as TextBlock).points).toBe([...'你好 😀, a sum:'].length)
  })

  it('ends with the message and the reason why it stopped', () => {
    const { view } = play(END)
    expect(view.blocks).toEqual([])
    expect(view.messages.map((item) => item.id)).toEqual(['m1'])
    expect([view.status, view.stopReason]).toEqual(['completed', 'completed'])
  })

  it('starts a new answer after a message that came in between', () => {
    const events = log(
      ['text.delta', { step: 0, offset: 0, text: 'one' }],
      ['message.completed', { message: message('a1', 'assistant') }],
      ['message.injected', { message: message('u2', 'user') }],
      ['text.delta', { step: 1, offset: 0, text: 'two' }],
    )
    const { view } = play(events)
    expect(view.messages.map((item) => item.id)).toEqual(['a1', 'u2'])
    expect(texts(view)).toEqual(['two'])
  })

  it('drops the text of a step that begins anew', () => {
    const { view } = play(log(['step.started', { step: 0 }], ['reasoning.delta', { step: 0, offset: 0, text: 'Hm' }], ['text.delta', { step: 0, offset: 0, text: 'First try, c' }], ['run.resumed', { step: 0 }], ['step.started', { step: 0 }], ['text.delta', { step: 0, offset: 0, text: 'Second' }], ['text.delta', { step: 0, offset: 6, text: ' try' }]))
    expect(texts(view)).toEqual(['', 'Second try'])
  })

  it('asks again when an event was lost, and is whole after the rest has been sent anew', () => {
    const reducer = new RunReducer('r1')
    const outcomes = STREAM.filter((event) => event.seq !== 9).map((event) => reducer.take(event))
    expect(outcomes).toContain('gap')
    const from = reducer.view.seq
    expect(from).toBe(8)
    reducer.reopen()
    STREAM.filter((event) => event.seq > from).forEach((event) => reducer.take(event))
    expect(reducer.view).toEqual(clean)
  })

  it('takes folded deltas that keep the last number, and drops what it has already', () => {
    const reducer = play(STREAM.slice(0, 5))
    reducer.reopen()
    const folded: RunEvent = { seq: 7, type: 'text.delta', data: { step: 0, offset: 0, text: '你好 😀, a sum:' } }
    expect(reducer.take(folded)).toBe('applied')
    STREAM.slice(7).forEach((event) => expect(reducer.take(event)).toBe('applied'))
    expect(reducer.view).toEqual(clean)
  })

  it('gives the same view for any doubling and any order of arrival', () => {
    const disorder = fc.tuple(fc.shuffledSubarray(STREAM, { minLength: STREAM.length }), fc.array(fc.constantFrom(...STREAM), { maxLength: 20 }))
    fc.assert(
      fc.property(disorder, ([order, doubles]) => {
        const reducer = new RunReducer('r1')
        // The stream opens with its first event; after that anything may happen to the rest.
        reducer.take(STREAM[0]!)
        ;[...order, ...doubles].forEach((event) => reducer.take(event))
        expect(reducer.view).toEqual(clean)
      }),
    )
  })

  it('leaves blocks that did not change as they are', () => {
    const before = play(STREAM.slice(0, 12)).view
    const reducer = new RunReducer('r1', before)
    reducer.take(STREAM[12]!)
    expect(reducer.view.blocks.slice(0, 3).every((block, index) => block === before.blocks[index])).toBe(true)
    expect(reducer.view.blocks[3]).not.toBe(before.blocks[3])
  })
})
