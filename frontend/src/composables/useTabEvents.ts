import { useQueryClient, type QueryClient } from '@tanstack/vue-query'
import { onBeforeUnmount, onMounted } from 'vue'
import { keys } from '@/api/keys'
import { followStream } from '@/lib/liveStream'
import { useConnection } from '@/stores/connection'

interface Changed {
  type: string
  id: string
}

const GROUP_MS = 150

/** What each kind of change makes stale. */
export function staleKeys({ type, id }: Changed): readonly (readonly string[])[] {
  switch (type) {
    case 'everything':
      return [[]]
    case 'conversation':
      return [keys.conversations, ['messages', id]]
    case 'project':
      return [keys.projects]
    case 'run':
      // A run may have written files of any project it could reach.
      return [keys.runs, keys.conversations, ['files']]
    case 'files':
      return [keys.files(id)]
    case 'tool':
    case 'tools':
      return [keys.tools]
    case 'models':
      return [keys.models]
    default:
      return []
  }
}

function createGrouper(client: QueryClient) {
  const waiting = new Map<string, readonly string[]>()
  let timer: ReturnType<typeof setTimeout> | undefined
  return (changed: Changed) => {
    for (const key of staleKeys(changed)) waiting.set(key.join('/'), key)
    timer ??= setTimeout(() => {
      timer = undefined
      for (const key of waiting.values()) void client.invalidateQueries({ queryKey: key })
      waiting.clear()
    }, GROUP_MS)
  }
}

/** One stream for the whole tab: makes stale what changed elsewhere. A hidden tab closes it. */
export function useTabEvents(): void {
  const client = useQueryClient()
  const connection = useConnection()
  const invalidate = createGrouper(client)
  let controller: AbortController | undefined
  let wasOpen = false

  function open(): void {
    if (controller || document.hidden) return
    controller = new AbortController()
    void followStream({
      url: '/api/events',
      signal: controller.signal,
      // What happened between two connections is unknown, so everything is asked again.
      onOpen: () => {
        connection.seen()
        if (wasOpen) void client.invalidateQueries()
        wasOpen = true
      },
      onEvent: (event) => {
        if (event.type !== 'changed') return
        const changed = JSON.parse(event.data) as Changed
        if (changed.type === 'storage') connection.storageFailed()
        invalidate(changed)
      },
    }).catch(() => undefined)
  }
  function close(): void {
    controller?.abort()
    controller = undefined
  }
  const onVisibility = () => (document.hidden ? close() : open())
  onMounted(() => {
    open()
    document.addEventListener('visibilitychange', onVisibility)
  })
  onBeforeUnmount(() => {
    close()
    document.removeEventListener('visibilitychange', onVisibility)
  })
}
