import { QueryClient, VueQueryPlugin } from '@tanstack/vue-query'
import { createPinia } from 'pinia'
import { afterEach, expect, it, vi } from 'vitest'
import { createApp } from 'vue'
import { i18n } from '@/i18n'
import { useComposerOptions } from './useComposerOptions'
import { useConversation } from './useConversations'

/** The server: keeps the switches of one conversation; each PATCH waits until the test lets it through. */
let stored: string[] = []
let patches: (() => void)[] = []
async function fetched(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  if (init?.method === 'PATCH') {
    const names = (JSON.parse(String(init.body)) as { tools_off: string[] }).tools_off
    await new Promise<void>((resolve) => patches.push(resolve))
    stored = names
  }
  return Response.json(String(input).includes('/tools') ? { items: [] } : { id: 'c1', tools_off: stored })
}
afterEach(() => vi.unstubAllGlobals())

it('quick switches of tools all count', async () => {
  vi.stubGlobal('fetch', fetched)
  let options!: ReturnType<typeof useComposerOptions>
  let conversation!: ReturnType<typeof useConversation>
  const app = createApp({ setup: () => ((conversation = useConversation('c1')), (options = useComposerOptions(conversation.data)), () => null) })
  app.use(VueQueryPlugin, { queryClient: new QueryClient() }).use(createPinia()).use(i18n).mount(document.createElement('div'))
  await vi.waitFor(() => expect(conversation.data.value).toBeDefined())
  for (const name of ['a', 'b', 'c']) options.toggle(name, false)
  expect(options.off.value).toEqual(['a', 'b', 'c'])
  await vi.waitFor(() => expect(patches).toHaveLength(1))
  patches.shift()!()
  await vi.waitFor(() => expect(patches).toHaveLength(1))
  expect([options.off.value, conversation.data.value!.tools_off]).toEqual([['a', 'b', 'c'], ['a']])
  patches.shift()!()
  await vi.waitFor(() => expect(conversation.data.value!.tools_off).toEqual(['a', 'b', 'c']))
  expect([options.off.value, stored]).toEqual([['a', 'b', 'c'], ['a', 'b', 'c']])
  app.unmount()
})
