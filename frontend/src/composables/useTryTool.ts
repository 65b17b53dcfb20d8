import { computed, ref, shallowRef, watch } from 'vue'
import type { Call, Tool } from '@/api/types'
import { cancelRun, listRuns } from '@/api/runs'
import { executeTool } from '@/api/tools'
import { curlOf } from '@/lib/curl'
import { firstValue, readForm, type FieldProblem, type FieldValue } from '@/lib/schemaForm'
import { useCopy } from './useCopy'

const KEY = 'nanoclaw.try-project'

/** Running one tool by hand: the form, the project, the run that goes on, its result. */
export function useTryTool(tool: () => Tool) {
  const copy = useCopy()
  const value = shallowRef<FieldValue>({})
  const projectId = ref(localStorage.getItem(KEY) ?? '')
  const problems = ref(new Map<string, FieldProblem>())
  const call = shallowRef<(Call & { run_id?: string }) | null>(null)
  const error = shallowRef<unknown>(null)
  const controller = shallowRef<AbortController | null>(null)
  const running = computed(() => controller.value !== null)
  watch(() => tool().name, () => {
    value.value = firstValue({ ...tool().parameters, type: 'object' }) || {}
    problems.value = new Map()
    call.value = error.value = null
    controller.value?.abort()
  }, { immediate: true })
  watch(projectId, (id) => localStorage.setItem(KEY, id))
  // A problem that was shown goes away as soon as it is solved.
  watch(value, () => problems.value.size && (problems.value = readForm(tool().parameters, value.value).problems))

  async function run(fresh = false): Promise<void> {
    const form = readForm(tool().parameters, value.value)
    problems.value = form.problems
    if (form.problems.size || running.value) return
    const own = (controller.value = new AbortController())
    error.value = null
    try {
      call.value = await executeTool(tool().name, form.args, projectId.value || undefined, fresh, own.signal)
    } catch (failure) {
      if (!own.signal.aborted) error.value = failure
    } finally {
      if (controller.value === own) controller.value = null
    }
  }
  /** The run is found by what it runs, since its id comes with the answer only; the answer then tells that it was cancelled. */
  async function stop(): Promise<void> {
    const own = controller.value
    const { items } = await listRuns({ kind: 'manual', status: 'running' }).catch(() => ({ items: [] }))
    const mine = items.find((run) => run.title?.startsWith(`/${tool().name} `))
    if (mine) await cancelRun(mine.id).catch(() => own?.abort())
    else own?.abort()
  }
  const copyCurl = () => copy(curlOf(tool().name, readForm(tool().parameters, value.value).args, projectId.value || undefined))
  return { value, projectId, problems, call, error, running, run, stop, copyCurl }
}
