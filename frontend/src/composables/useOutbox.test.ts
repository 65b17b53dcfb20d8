import { QueryClient, VueQueryPlugin } from '@tanstack/vue-query'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createApp, ref } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'
import type { useComposerOptions } from './useComposerOptions'
import type { useMessages } from './useMessages'
import { useOutbox } from './useOutbox'

/** The server: makes conversations, and answers messages as the test says. */
let asked: string[]
let answerMessage: () => Response | Promise<Response>
const json = (status: number, body: object) => new Response(JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json' } })
const refusal = () => json(413, { code: 'too_large', detail: 'Too large.' })
const accepted = () => json(201, { message: { id: 'm1' }, run: null })

async function fetched(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input instanceof Request ? input : new URL(String(input), 'http://test'), init)
  const path = new URL(request.url).pathname
  asked.push(`${request.method} ${path}`)
  if (path.endsWith('/messages')) return answerMessage()
  if (request.method === 'DELETE') return new Response(null, { status: 204 })
  return json(201, { id: `c${asked.filter((line) => line === 'POST /api/conversations').length}`, project_id: null })
}

function setup() {
  let outbox!: ReturnType<typeof useOutbox>
  const component = { template: '' }
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/c/:cid', name: 'conversation-free', component }, { path: '/:rest(.*)', component }] })
  const messages = { add: vi.fn(), refresh: vi.fn() } as unknown as ReturnType<typeof useMessages>
  const options = { model: ref(null), thinking: ref(null), off: ref([]), sendTools: ref(undefined) } as unknown as ReturnType<typeof useComposerOptions>
  const app = createApp({ setup: () => ((outbox = useOutbox({ id: ref(null), projectId: ref(null), messages, options, onRun: () => {} })), () => null) })
  app.use(VueQueryPlugin, { queryClient: new QueryClient() }).use(router).mount(document.createElement('div'))
  return outbox
}

beforeEach(() => {
  asked = []
  vi.stubGlobal('fetch', fetched)
})
afterEach(() => vi.unstubAllGlobals())

describe('a first message', () => {
  it('that is refused leaves no empty conversation, and is sent to a new one when tried again', async () => {
    const outbox = setup()
    answerMessage = refusal
    await outbox.send({ content: 'Hello' })
    expect(asked).toEqual(['POST /api/conversations', 'POST /api/conversations/c1/messages', 'DELETE /api/conversations/c1'])
    expect(outbox.pending.value[0]!.error).toMatchObject({ code: 'too_large' })
    answerMessage = accepted
    await outbox.resend(outbox.pending.value[0]!)
    expect(asked.slice(3)).toEqual(['POST /api/conversations', 'POST /api/conversations/c2/messages'])
    expect(outbox.pending.value).toEqual([])
  })

  it('that may have arrived is tried again in the same conversation', async () => {
    const outbox = setup()
    answerMessage = () => Promise.reject(new TypeError('network'))
    await outbox.send({ content: 'Hello' })
    answerMessage = accepted
    await outbox.resend(outbox.pending.value[0]!)
    expect(asked).toEqual(['POST /api/conversations', 'POST /api/conversations/c1/messages', 'POST /api/conversations/c1/messages'])
  })

  it('that is given up takes its conversation along', async () => {
    const outbox = setup()
    answerMessage = () => json(503, { code: 'unavailable', detail: 'Busy.' })
    await outbox.send({ content: 'Hello' })
    outbox.discard(outbox.pending.value[0]!)
    await vi.waitFor(() => expect(asked.at(-1)).toBe('DELETE /api/conversations/c1'))
    expect(outbox.pending.value).toEqual([])
  })
})
