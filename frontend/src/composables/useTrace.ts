import { useQuery, useQueryClient } from '@tanstack/vue-query'
import { computed, inject, provide, reactive, ref, watch, type InjectionKey, type Ref } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { keys } from '@/api/keys'
import { allSteps, getRun } from '@/api/runs'
import { isActive, type Step } from '@/api/types'
import { applyToSteps, callKey, failuresOf, NO_FILTER, RUN_KEY, slowestCall, stepKey, traceRows, traceSpan, zoomed, type Span, type TraceRow } from '@/lib/trace'
import { useNow } from './useNow'
import { useRunStream } from './useRunStream'

const ZOOM_STEP = 2

/** The trace of a run: its rows, what is selected (in the URL), folds, filter and the window on the time axis. */
export function createTrace(runId: Ref<string>) {
  const client = useQueryClient()
  const route = useRoute()
  const router = useRouter()
  const run = useQuery({ queryKey: computed(() => keys.run(runId.value)), queryFn: () => getRun(runId.value) })
  // Thousands of calls: neither made reactive one by one nor compared with what was there.
  const query = useQuery({ queryKey: computed(() => keys.runSteps(runId.value)), queryFn: ({ queryKey }) => allSteps(runId.value, (first) => client.setQueryData<Step[]>(queryKey, (known) => known ?? first)), structuralSharing: false, shallow: true })
  const steps = computed(() => query.data.value ?? [])
  const live = computed(() => Boolean(run.data.value && isActive(run.data.value.status)))
  const now = useNow(() => live.value)

  useRunStream(() => (live.value && query.data.value ? runId.value : null), {
    onEvent: ({ type, data }) => {
      const at = new Date().toISOString()
      client.setQueryData<Step[]>(keys.runSteps(runId.value), (known) => known && applyToSteps(known, type, data, at))
    },
    onFinished: () => void client.invalidateQueries({ queryKey: keys.runs }),
  })

  const folded = ref(new Set<string>())
  const filter = reactive({ ...NO_FILTER })
  const rows = computed(() => (run.data.value ? traceRows(run.data.value, steps.value, folded.value, filter) : []))
  const whole = computed<Span>(() => (run.data.value ? traceSpan(run.data.value, steps.value, now.value) : { from: 0, to: 1 }))
  const zoomedTo = ref<Span | null>(null)
  const window = computed(() => zoomedTo.value ?? whole.value)
  const failures = computed(() => failuresOf(steps.value))
  /** Steps that the run has and that could not be had. */
  const missing = computed(() => Math.max(0, (run.data.value?.step_count ?? 0) - steps.value.length))
  const slowest = computed(() => slowestCall(steps.value))

  const selected = computed(() => {
    if (typeof route.query.call === 'string') return callKey(route.query.call)
    if (typeof route.query.step === 'string') return stepKey(Number(route.query.step))
    return RUN_KEY
  })
  const rowOf = (key: string): TraceRow | undefined => rows.value.find((row) => row.key === key)
  const selectedRow = computed(() => rowOf(selected.value))
  function select(key: string): void {
    const [kind, ...rest] = key.split(':')
    const query = kind === 'call' ? { call: rest.join(':') } : kind === 'step' ? { step: rest.join(':') } : {}
    void router.replace({ ...route, query } as never)
  }
  function fold(key: string, on: boolean): void {
    const next = new Set(folded.value)
    if (on) next.add(key)
    else next.delete(key)
    folded.value = next
  }
  /** Selects a row that may be folded away or filtered out. */
  function reveal(key: string): void {
    Object.assign(filter, NO_FILTER)
    folded.value = new Set()
    select(key)
  }
  function move(by: number): void {
    const place = rows.value.findIndex((row) => row.key === selected.value)
    const next = rows.value[Math.min(rows.value.length - 1, Math.max(0, place + by))]
    if (next) select(next.key)
  }
  function nextFailure(): boolean {
    if (!failures.value.length) return false
    const place = failures.value.indexOf(selected.value)
    reveal(failures.value[(place + 1) % failures.value.length]!)
    return true
  }
  function zoom(direction: 1 | -1): void {
    const row = selectedRow.value
    const middle = row?.start && row.kind !== 'run' ? (row.start + (row.end ?? row.start)) / 2 : (window.value.from + window.value.to) / 2
    const next = zoomed(whole.value, window.value, direction > 0 ? ZOOM_STEP : 1 / ZOOM_STEP, middle)
    zoomedTo.value = next.to - next.from >= whole.value.to - whole.value.from ? null : next
  }
  const fit = () => (zoomedTo.value = null)
  /** What is selected stays in sight of a close window. */
  watch(selected, () => {
    const row = selectedRow.value
    const close = zoomedTo.value
    if (close && row?.start && row.kind !== 'run' && (row.start < close.from || row.start > close.to)) zoomedTo.value = zoomed(whole.value, close, 1, row.start)
  })
  watch(runId, () => {
    folded.value = new Set()
    fit()
  })
  return { runId, run, query, steps, live, now, rows, filter, folded, whole, window, failures, missing, slowest, selected, selectedRow, select, fold, reveal, move, nextFailure, zoom, fit }
}

export type Trace = ReturnType<typeof createTrace>
const TRACE: InjectionKey<Trace> = Symbol('trace')
export const provideTrace = (trace: Trace): void => provide(TRACE, trace)
export function useTrace(): Trace {
  const trace = inject(TRACE)
  if (!trace) throw new Error('useTrace needs a trace page above it')
  return trace
}
