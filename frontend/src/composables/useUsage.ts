import { keepPreviousData, useQuery } from '@tanstack/vue-query'
import { computed, ref } from 'vue'
import { keys } from '@/api/keys'
import { queueStats, runStats, tokenStats, type Period } from '@/api/stats'
import { byModel, totals, wholeAxis } from '@/lib/usage'

const QUEUE_EVERY_MS = 10_000

async function figuresOf(step: Period) {
  return { step, items: (await tokenStats(step)).items }
}

/** What was used, as the server sums it: over time, by model and tool, how runs went, and the queue as it stands now. */
export function useUsage(unnamedModel: () => string) {
  const period = ref<Period>('daily')
  // The figures of one time stay on screen until those of the next are there; `step` tells which they are.
  const stats = useQuery({ queryKey: computed(() => keys.stats(period.value)), queryFn: () => figuresOf(period.value), placeholderData: keepPreviousData })
  const runs = useQuery({ queryKey: computed(() => keys.runStats(period.value)), queryFn: () => runStats(period.value), placeholderData: keepPreviousData })
  const queue = useQuery({ queryKey: keys.queueStats, queryFn: queueStats, refetchInterval: QUEUE_EVERY_MS })
  const step = computed(() => stats.data.value?.step ?? period.value)
  const used = computed(() => stats.data.value?.items ?? [])
  const periods = computed(() => wholeAxis(used.value, step.value, new Date()))
  const sums = computed(() => totals(used.value))
  const success = computed(() => (runs.data.value?.ended ? runs.data.value.completed / runs.data.value.ended : null))
  const models = computed(() => byModel(runs.data.value?.models ?? [], unnamedModel()))
  const toolShares = computed(() => (runs.data.value?.tools ?? []).map((tool) => ({ name: tool.name, value: tool.calls, more: tool.errors })))
  /** Figures that could not be had, while others stand. */
  const lost = computed(() => [runs, queue].filter((query) => query.error.value))
  const retry = (): void => lost.value.forEach((query) => void query.refetch())
  return { period, step, stats, runs, queue, periods, sums, success, models, toolShares, lost, retry }
}
