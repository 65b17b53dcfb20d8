import { QueryClient, VueQueryPlugin } from '@tanstack/vue-query'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createPinia } from 'pinia'
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

function setup({ id = ref<string | null>(null), onRun = (_run: string) => {} } = {}) {
  let outbox!: ReturnType<typeof useOutbox>
  const component = { template: '' }
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/c/:cid', name: 'conversation', component }, { path: '/:rest(.*)', component }] })
  const messages = { add: vi.fn(), refresh: vi.fn() } as unknown as ReturnType<typeof useMessages>
  const options = { model: ref(null), thinking: ref(null), off: ref([]), sendTools: ref(undefined) } as unknown as ReturnType<typeof useComposerOptions>
  const app = createApp({ setup: () => ((outbox = useOutbox({ id, projectId: ref(null), messages, options, onRun })), () => null) })
  app.use(VueQueryPlugin, { queryClient: new QueryClient() }).use(router).use(createPinia()).mount(document.createElement('div'))
  return Object.assign(outbox, { router, messages })
}

beforeEach(() => {
  localStorage.clear()
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

describe('a message whose page is left', () => {
  /** Sends from the page of conversation a, and answers while b is shown. */
  async function leave(response: () => Response) {
    const id = ref<string | null>('a')
    const onRun = vi.fn()
    const outbox = setup({ id, onRun })
    let answer!: (response: Response) => void
    answerMessage = () => new Promise((resolve) => (answer = resolve))
    const sending = outbox.send({ content: 'Hello', attachments: ['a.txt'] })
    id.value = 'b'
    await vi.waitFor(() => expect(asked).toHaveLength(1))
    answer(response())
    await sending
    return { outbox, id, onRun }
  }

  it('changes nothing on the page that is shown when its answer comes', async () => {
    const { outbox, onRun } = await leave(() => json(202, { message: { id: 'm1' }, run: { id: 'r1' } }))
    expect(onRun).not.toHaveBeenCalled()
    expect(outbox.messages.add).not.toHaveBeenCalled()
  })

  it('and that could not be sent waits where it was written, also after a reload, and is the same message when sent again', async () => {
    const { outbox, id } = await leave(refusal)
    expect(outbox.pending.value).toEqual([])
    id.value = 'a'
    expect(outbox.pending.value).toMatchObject([{ content: 'Hello', attachments: ['a.txt'], error: { code: 'too_large' } }])
    const reloaded = setup({ id })
    expect(reloaded.pending.value).toMatchObject([{ content: 'Hello', clientId: outbox.pending.value[0]!.clientId, error: { code: 'too_large' } }])
    answerMessage = accepted
    await reloaded.resend(reloaded.pending.value[0]!)
    expect(setup({ id }).pending.value).toEqual([])
  })

  it('is not followed to its new conversation', async () => {
    const id = ref<string | null>(null)
    const outbox = setup({ id })
    let answer!: (response: Response) => void
    answerMessage = () => new Promise((resolve) => (answer = resolve))
    const sending = outbox.send({ content: 'Hello' })
    await vi.waitFor(() => expect(asked).toContain('POST /api/conversations/c1/messages'))
    id.value = 'other'
    await outbox.router.push({ name: 'conversation', params: { cid: 'other' } })
    answer(accepted())
    await sending
    expect(outbox.router.currentRoute.value.params.cid).toBe('other')
  })
})
