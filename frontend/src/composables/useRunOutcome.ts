import { useQuery } from '@tanstack/vue-query'
import { computed } from 'vue'
import { keys } from '@/api/keys'
import { getRun } from '@/api/runs'
import { isActive, type RunError, type RunStatus } from '@/api/types'
import type { Chat } from './useChat'

export interface Outcome {
  runId: string
  status: RunStatus
  stopReason: string | null
  error: RunError | null
}

/** How the newest run on this branch ended, live or found stored; null while one goes on. */
export function useRunOutcome(chat: Chat) {
  const lastRun = computed(() => (chat.running.value || !chat.atEnd.value ? null : (chat.shownMessages.value.at(-1)?.run_id ?? null)))
  const stored = useQuery({ queryKey: computed(() => keys.run(lastRun.value ?? '')), queryFn: () => getRun(lastRun.value!), enabled: () => lastRun.value !== null && !chat.ended.value })
  return computed<Outcome | null>(() => {
    if (chat.running.value) return null
    if (chat.ended.value) return chat.ended.value
    const run = lastRun.value ? stored.data.value : undefined
    return run && run.id === lastRun.value && !isActive(run.status) ? { runId: run.id, status: run.status, stopReason: run.stop_reason, error: run.error } : null
  })
}
