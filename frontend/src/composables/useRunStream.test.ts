import { createPinia } from 'pinia'
import { afterEach, expect, it, vi } from 'vitest'
import { createApp, nextTick, ref } from 'vue'
import { useConnection } from '@/stores/connection'
import { useRunStream } from './useRunStream'

afterEach(() => vi.unstubAllGlobals())

it('a run that is left while its stream is cut leaves no word of it', async () => {
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('network')))
  const run = ref<string | null>('r1')
  let connection!: ReturnType<typeof useConnection>
  const app = createApp({ setup: () => ((connection = useConnection()), useRunStream(run), () => null) })
  app.use(createPinia()).mount(document.createElement('div'))
  await vi.waitFor(() => expect(connection.live).toBe('reconnecting'))
  run.value = null
  await nextTick()
  expect(connection.live).toBe('live')
  await new Promise((resolve) => setTimeout(resolve))
  expect(connection.live).toBe('live')
  app.unmount()
})
