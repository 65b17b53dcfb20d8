import { useQuery } from '@tanstack/vue-query'
import { keys } from '@/api/keys'
import { listRuns } from '@/api/runs'

const FEW = 6

/** Runs that go on now, of every project. */
export function useRunningNow() {
  const filter = { status: 'running', limit: FEW }
  return useQuery({ queryKey: keys.runList(filter), queryFn: () => listRuns(filter), select: (page) => page.items.filter((run) => run.kind !== 'child') })
}
