import { useQuery } from '@tanstack/vue-query'
import { computed, type Ref } from 'vue'
import { keys } from '@/api/keys'
import { getRun } from '@/api/runs'
import type { RunView } from '@/lib/runView'
import { useNow } from './useNow'

const NEAR_LIMIT = 0.8
const REFRESH_MS = 5_000

/** How far a run is, against its limits. */
export function useRunMeter(runId: Ref<string | null>, view: Ref<RunView | null>) {
  const run = useQuery({
    queryKey: computed(() => keys.run(runId.value ?? '')),
    queryFn: () => getRun(runId.value!),
    enabled: () => runId.value !== null,
    refetchInterval: REFRESH_MS,
  })
  const now = useNow(() => runId.value !== null)
  const limits = computed(() => run.data.value?.limits ?? null)
  const status = computed(() => {
    const shown = view.value?.status ?? run.data.value?.status ?? 'queued'
    return ['queued', 'running', 'waiting_approval'].includes(shown) ? shown : 'running'
  })
  const step = computed(() => (view.value?.step ?? 0) + 1)
  const elapsed = computed(() => {
    const start = run.data.value?.started_at ?? run.data.value?.created_at
    return start ? Math.max(0, Math.floor((now.value - Date.parse(start)) / 1000)) : 0
  })
  const tokens = computed(() => run.data.value?.usage?.total_tokens ?? 0)
  /** The limit that is nearly reached, if one is: the one nearer to its end. */
  const near = computed(() => {
    const limit = limits.value
    if (!limit) return null
    const shares = { steps: step.value / limit.max_steps, time: elapsed.value / limit.run_timeout_seconds }
    const nearer = shares.steps >= shares.time ? 'steps' : 'time'
    return shares[nearer] >= NEAR_LIMIT ? nearer : null
  })
  return { limits, status, step, elapsed, tokens, near }
}
