import { useQuery } from '@tanstack/vue-query'
import { computed } from 'vue'
import { keys } from '@/api/keys'
import { allSteps, getRun, listSteps } from '@/api/runs'
import { isActive, type Step } from '@/api/types'

const LEAST_ASKED = 5
const MOST_ASKED = 200

/** A run and its steps without a stream of its own: asked again while it goes on, and then only for what is new. */
export function useRunSteps(runId: () => string, askMs: number) {
  const run = useQuery({ queryKey: computed(() => keys.run(runId())), queryFn: () => getRun(runId()), refetchInterval: (query) => (query.state.data && !isActive(query.state.data.status) ? false : askMs) })
  const active = computed(() => !run.data.value || isActive(run.data.value.status))

  // Steps that others follow stay as they are while the run goes on.
  let past: { id: string; steps: Step[]; cursor?: string } = { id: '', steps: [] }
  async function read(id: string): Promise<Step[]> {
    if (!active.value) return allSteps(id)
    if (past.id !== id) past = { id, steps: [] }
    const own = past
    for (;;) {
      const left = (run.data.value?.step_count ?? 0) - own.steps.length
      const page = await listSteps(id, own.cursor, Math.min(MOST_ASKED, Math.max(LEAST_ASKED, left - 1)))
      if (!page.next_cursor) return [...own.steps, ...page.items]
      own.steps = [...own.steps, ...page.items]
      own.cursor = page.next_cursor
    }
  }
  const steps = useQuery({ queryKey: computed(() => keys.runSteps(runId())), queryFn: ({ queryKey: [, , id] }) => read(id), enabled: () => Boolean(run.data.value), refetchInterval: () => (active.value ? askMs : false) })
  const calls = computed(() => (steps.data.value ?? []).flatMap((step) => step.tool_calls))
  return { run, steps, calls, active }
}
