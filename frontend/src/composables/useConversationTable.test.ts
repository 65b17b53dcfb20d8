import { QueryClient, VueQueryPlugin } from '@tanstack/vue-query'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createApp } from 'vue'
import { createMemoryHistory, createRouter } from 'vue-router'
import { useConversationTable } from './useConversationTable'

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('fetch', () => Promise.resolve(Response.json({ items: [], next_cursor: null })))
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

it('the search box follows the address, and the address the box', async () => {
  let table!: ReturnType<typeof useConversationTable>
  const router = createRouter({ history: createMemoryHistory(), routes: [{ path: '/', component: { template: '' } }] })
  await router.push('/?q=first')
  const app = createApp({ setup: () => ((table = useConversationTable(() => undefined)), () => null) })
  app.use(VueQueryPlugin, { queryClient: new QueryClient() }).use(router).mount(document.createElement('div'))
  table.words.value = 'second '
  await vi.advanceTimersByTimeAsync(300)
  expect([router.currentRoute.value.query.q, table.words.value]).toEqual(['second', 'second '])
  await router.push('/')
  await vi.advanceTimersByTimeAsync(300)
  expect([table.words.value, router.currentRoute.value.query.q]).toEqual(['', undefined])
  app.unmount()
})
