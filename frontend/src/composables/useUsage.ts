import { useQuery } from '@tanstack/vue-query'
import { computed, ref } from 'vue'
import { keys } from '@/api/keys'
import { listRuns } from '@/api/runs'
import { tokenStats, type Period } from '@/api/stats'
import type { Run } from '@/api/types'
import { byModel, health, totals, wholeAxis } from '@/lib/usage'
import { useTools } from './useComposerOptions'

const PAGE_RUNS = 200
const MOST_PAGES = 3

async function latestRuns(): Promise<Run[]> {
  const runs: Run[] = []
  let cursor: string | undefined
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const answer = await listRuns({ limit: PAGE_RUNS, cursor })
    runs.push(...answer.items)
    cursor = answer.next_cursor ?? undefined
    if (!cursor) break
  }
  return runs
}

/** What was used: sums of the server over time, and figures of the latest runs. */
export function useUsage(unnamedModel: () => string) {
  const period = ref<Period>('daily')
  const stats = useQuery({ queryKey: computed(() => keys.stats(period.value)), queryFn: () => tokenStats(period.value), select: (page) => page.items })
  const runs = useQuery({ queryKey: keys.runList({ latest: PAGE_RUNS * MOST_PAGES }), queryFn: latestRuns })
  const tools = useTools()
  const periods = computed(() => wholeAxis(stats.data.value ?? [], period.value, new Date()))
  const sums = computed(() => totals(stats.data.value ?? []))
  const well = computed(() => health(runs.data.value ?? []))
  const models = computed(() => byModel(runs.data.value ?? [], unnamedModel()))
  const toolShares = computed(() =>
    (tools.data.value ?? []).filter((tool) => tool.stats?.calls).map((tool) => ({ name: tool.name, value: tool.stats!.calls, more: tool.stats!.errors })).sort((a, b) => b.value - a.value),
  )
  return { period, stats, runs, periods, sums, well, models, toolShares }
}
