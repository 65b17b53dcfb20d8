import { QueryClient, VueQueryPlugin } from '@tanstack/vue-query'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createApp } from 'vue'
import { useConnection } from '@/stores/connection'
import { useTabEvents } from './useTabEvents'

/** The server: one event for the tab, and how many records wait for the database. */
let waiting = 2
const EVENT = 'id: 1\nevent: changed\ndata: {"type": "storage", "id": "r1"}\n\n'
function fetched(input: RequestInfo | URL): Promise<Response> {
  if (String(input).endsWith('/readyz')) return Promise.resolve(Response.json({ status: 'ready', details: { database: { records_waiting: waiting } } }))
  const open = new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode(EVENT)) })
  return Promise.resolve(new Response(open, { headers: { 'Content-Type': 'text/event-stream' } }))
}

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('fetch', fetched)
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

it('tells that nothing can be stored until all that was kept is entered', async () => {
  setActivePinia(createPinia())
  const connection = useConnection()
  const app = createApp({ setup: () => (useTabEvents(), () => null) })
  app.use(VueQueryPlugin, { queryClient: new QueryClient() }).mount(document.createElement('div'))
  await vi.waitFor(() => expect(connection.storing).toBe(false))
  await vi.advanceTimersByTimeAsync(3_500)
  expect(connection.storing).toBe(false)
  waiting = 0
  await vi.advanceTimersByTimeAsync(3_500)
  expect(connection.storing).toBe(true)
  app.unmount()
})
