import { QueryClient, VueQueryPlugin } from '@tanstack/vue-query'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createApp } from 'vue'
import { useRunSteps } from './useRunSteps'

/** The server: a run with so many steps, and which of them were sent each time. */
const server = { count: 30, status: 'running', sent: [] as number[][] }
function fetched(input: RequestInfo | URL): Promise<Response> {
  const url = new URL(String(input), 'http://test')
  if (!url.pathname.endsWith('/steps')) return Promise.resolve(Response.json({ id: 'r1', status: server.status, step_count: server.count }))
  const from = Number(url.searchParams.get('cursor') ?? 0)
  const to = Math.min(server.count, from + Number(url.searchParams.get('limit')))
  const items = Array.from({ length: to - from }, (_, place) => ({ index: from + place, tool_calls: [{ id: `c${from + place}` }] }))
  server.sent.push(items.map((item) => item.index))
  return Promise.resolve(Response.json({ items, next_cursor: to < server.count ? String(to) : null }))
}
beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('fetch', fetched)
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

it('asks for the newest steps only while the run goes on, and for all when it is over', async () => {
  let it!: ReturnType<typeof useRunSteps>
  const app = createApp({ setup: () => ((it = useRunSteps(() => 'r1', 1_000)), () => null) })
  app.use(VueQueryPlugin, { queryClient: new QueryClient() }).mount(document.createElement('div'))
  await vi.waitFor(() => expect(it.calls.value).toHaveLength(30))
  server.count = 32
  server.sent = []
  await vi.advanceTimersByTimeAsync(1_000)
  expect(it.calls.value.map((call) => call.id)).toEqual(Array.from({ length: 32 }, (_, index) => `c${index}`))
  expect(server.sent.flat().length).toBeLessThan(10)
  server.status = 'completed'
  await vi.advanceTimersByTimeAsync(1_000)
  server.sent = []
  await it.steps.refetch()
  expect(server.sent.flat()).toHaveLength(32)
  app.unmount()
})
