import { useQuery } from '@tanstack/vue-query'
import { computed } from 'vue'
import { listMessages } from '@/api/conversations'
import { keys } from '@/api/keys'
import { getRun } from '@/api/runs'
import type { Message, Run } from '@/api/types'

export interface Version {
  message: Message
  /** The run that answered it, or made it; null where it is not known any more. */
  run: Run | null
}

/** More than this many are found by the arrows only. */
const MOST = 20

async function load(message: Message, id: string): Promise<Version | null> {
  const page = await listMessages(message.conversation_id, { around: id, limit: 1 })
  const found = page.items.find((item) => item.id === id)
  if (!found) return null
  const run = found.run_id ? await getRun(found.run_id).catch(() => null) : null
  return { message: found, run }
}

/** The versions of a message, the newest MOST of them, each with its run. */
export function useVersions(message: () => Message) {
  const ids = computed(() => message().siblings.slice(-MOST))
  const query = useQuery({
    queryKey: computed(() => [...keys.messages(message().conversation_id), 'versions', ...ids.value]),
    queryFn: () => Promise.all(ids.value.map((id) => load(message(), id))),
  })
  return { versions: computed(() => (query.data.value ?? []).filter((version) => version !== null)), loading: query.isPending }
}
