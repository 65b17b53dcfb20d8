import { useQuery } from '@tanstack/vue-query'
import { computed, ref } from 'vue'
import { keys } from '@/api/keys'
import { queueStats, runStats, tokenStats, type Period } from '@/api/stats'
import { byModel, totals, wholeAxis } from '@/lib/usage'
import { useTools } from './useComposerOptions'

const QUEUE_EVERY_MS = 10_000

/** What was used, as the server sums it: over time, by model and tool, how runs went, and the queue as it stands now. */
export function useUsage(unnamedModel: () => string) {
  const period = ref<Period>('daily')
  const stats = useQuery({ queryKey: computed(() => keys.stats(period.value)), queryFn: () => tokenStats(period.value), select: (page) => page.items })
  const runs = useQuery({ queryKey: computed(() => keys.runStats(period.value)), queryFn: () => runStats(period.value) })
  const queue = useQuery({ queryKey: keys.queueStats, queryFn: queueStats, refetchInterval: QUEUE_EVERY_MS })
  const tools = useTools()
  const periods = computed(() => wholeAxis(stats.data.value ?? [], period.value, new Date()))
  const sums = computed(() => totals(stats.data.value ?? []))
  const success = computed(() => (runs.data.value?.ended ? runs.data.value.completed / runs.data.value.ended : null))
  const models = computed(() => byModel(runs.data.value?.models ?? [], unnamedModel()))
  const toolShares = computed(() =>
    (tools.data.value ?? []).filter((tool) => tool.stats?.calls).map((tool) => ({ name: tool.name, value: tool.stats!.calls, more: tool.stats!.errors })).sort((a, b) => b.value - a.value),
  )
  /** Figures that could not be had, while others stand. */
  const lost = computed(() => [runs, queue, tools].filter((query) => query.error.value))
  const retry = (): void => lost.value.forEach((query) => void query.refetch())
  return { period, stats, runs, queue, periods, sums, success, models, toolShares, lost, retry }
}
