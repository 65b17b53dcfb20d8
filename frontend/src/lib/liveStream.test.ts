import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { followStream, WATCHDOG_MS, type LiveEvent, type StreamState } from './liveStream'

interface Connection {
  lastId: string | null
  send: (text: string) => void
  close: () => void
}

let connections: Connection[] = []
let answers: ('stream' | 'refuse' | number)[] = []

/** A server behind fetch(): each connection can be written to and cut. */
function fakeFetch(_url: unknown, init: RequestInit = {}): Promise<Response> {
  const answer = answers.shift() ?? 'stream'
  if (answer === 'refuse') return Promise.reject(new TypeError('Failed to fetch'))
  if (typeof answer === 'number') return Promise.resolve(new Response('{"code":"not_found"}', { status: answer }))
  let controller!: ReadableStreamDefaultController<Uint8Array>
  const body = new ReadableStream<Uint8Array>({ start: (own) => void (controller = own) })
  init.signal?.addEventListener('abort', () => {
    try {
      controller.error(new DOMException('aborted', 'AbortError'))
    } catch {
      // Closed already.
    }
  })
  connections.push({ lastId: new Headers(init.headers).get('Last-Event-ID'), send: (text) => controller.enqueue(new TextEncoder().encode(text)), close: () => controller.close() })
  return Promise.resolve(new Response(body, { headers: { 'Content-Type': 'text/event-stream' } }))
}

function follow(more: Partial<Parameters<typeof followStream>[0]> = {}) {
  const events: LiveEvent[] = []
  const states: StreamState[] = []
  const controller = new AbortController()
  const over = followStream({
    url: '/api/runs/r1/events', signal: controller.signal, onEvent: (event) => events.push(event), onState: (state) => states.push(state), isDone: () => events.at(-1)?.type === 'run.finished', ...more,
  })
  return { events, states, over, controller }
}
const settle = (ms = 0) => vi.advanceTimersByTimeAsync(ms)

beforeEach(() => {
  connections = []
  answers = []
  vi.useFakeTimers()
  vi.stubGlobal('fetch', fakeFetch)
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

describe('a live stream', () => {
  it('ends when the last event has come, wherever the bytes were cut', async () => {
    const { events, over } = follow()
    await settle()
    connections[0]!.send('id: 1\nevent: run.sta')
    connections[0]!.send('rted\ndata: {}\n\n: beat\n\nid: 2\nevent: run.finished\ndata: {"status":"completed"}\n\n')
    await settle()
    connections[0]!.close()
    await over
    expect(events.map((event) => [event.id, event.type])).toEqual([['1', 'run.started'], ['2', 'run.finished']])
    expect(connections).toHaveLength(1)
  })

  it('comes back after a cut and asks for what follows the last event', async () => {
    const { events, states, controller } = follow()
    await settle()
    connections[0]!.send('id: 7\nevent: text.delta\ndata: {}\n\n')
    await settle()
    connections[0]!.close()
    await settle(50)
    expect(connections[1]!.lastId).toBe('7')
    expect(states).toEqual(['reconnecting', 'caught-up'])
    connections[1]!.send('id: 8\nevent: text.delta\ndata: {}\n\n')
    await settle(2_500)
    expect(states.at(-1)).toBe('open')
    expect(events.map((event) => event.id)).toEqual(['7', '8'])
    controller.abort()
  })

  it('takes 25 s of silence for a dead connection, but not when heartbeats come', async () => {
    const { controller } = follow()
    await settle()
    await settle(WATCHDOG_MS - 1_000)
    connections[0]!.send(': beat\n\n')
    await settle(WATCHDOG_MS - 1_000)
    expect(connections).toHaveLength(1)
    await settle(2_000)
    expect(connections).toHaveLength(2)
    controller.abort()
  })

  it('falls back to asking when no stream can be had for a minute, and ends when the run has', async () => {
    answers = Array.from({ length: 200 }, () => 'refuse' as const)
    const asked: number[] = []
    const { states, over } = follow({ poll: () => Promise.resolve(asked.push(1) >= 3) })
    await settle(59_000)
    expect(asked).toHaveLength(0)
    expect(states.at(-1)).toBe('reconnecting')
    await settle(30_000)
    await over
    expect(asked).toHaveLength(3)
    expect(states.at(-1)).toBe('polling')
  })

  it('gives up at once when the thing itself is gone', async () => {
    answers = [404]
    const { over } = follow()
    await expect(over).rejects.toMatchObject({ status: 404, code: 'not_found' })
  })
})
