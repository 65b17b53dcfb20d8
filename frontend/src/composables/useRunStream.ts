import { nextTick, onScopeDispose, shallowRef, toValue, watch, type MaybeRefOrGetter } from 'vue'
import { getRun, listSteps, runEventsUrl } from '@/api/runs'
import { isActive } from '@/api/types'
import { followStream } from '@/lib/liveStream'
import { createPainter } from '@/lib/painter'
import { RunReducer, viewFromSteps, type RunEvent, type RunView } from '@/lib/runView'
import { useConnection } from '@/stores/connection'

const GAP_PATIENCE_MS = 1_000
// The last words of a step do not wait for the next turn; and a message becomes a stored one in the same moment in which
// it is no longer the one that is being written.
const AT_ONCE: ReadonlySet<string> = new Set(['step.finished', 'message.completed', 'message.injected'])

interface Hooks {
  onEvent?: (event: RunEvent, view: RunView) => void
  onFinished?: (view: RunView) => void
}

/** Follows a run live: the view grows at a pace the page can paint, and survives cuts, restarts and sleep. */
export function useRunStream(runId: MaybeRefOrGetter<string | null>, hooks: Hooks = {}) {
  const connection = useConnection()
  const view = shallowRef<RunView | null>(null)
  let reducer: RunReducer | null = null
  let controller: AbortController | null = null
  const painter = createPainter(async () => {
    view.value = reducer?.view ?? null
    await nextTick()
  })

  function follow(id: string): void {
    const own = new AbortController()
    const current = (reducer ??= new RunReducer(id))
    controller = own
    let gapTimer: ReturnType<typeof setTimeout> | undefined
    const finished = () => !isActive(current.view.status)
    const finish = () => {
      void painter.now()
      hooks.onFinished?.(current.view)
    }
    // A hole that is not filled soon is filled by asking again from the last event in order.
    const askAgain = () => {
      own.abort()
      if (reducer === current) follow(id)
    }
    void followStream({
      url: runEventsUrl(id),
      signal: own.signal,
      lastId: current.view.seq ? String(current.view.seq) : null,
      isDone: finished,
      onState: (state, tries) => connection.report(state === 'open' ? 'live' : state, tries),
      onOpen: () => {
        connection.seen()
        current.reopen()
      },
      onEvent: (raw) => {
        const event: RunEvent = { seq: Number(raw.id), type: raw.type, data: JSON.parse(raw.data) as Record<string, unknown> }
        const outcome = current.take(event)
        clearTimeout(gapTimer)
        if (outcome === 'gap') gapTimer = setTimeout(askAgain, GAP_PATIENCE_MS)
        if (outcome !== 'applied') return
        hooks.onEvent?.(event, current.view)
        if (finished()) finish()
        else if (AT_ONCE.has(event.type)) void painter.now()
        else painter.soon()
      },
      poll: async () => {
        const [run, steps] = await Promise.all([getRun(id), listSteps(id)])
        current.view = viewFromSteps(current.view, steps.items, run.status)
        painter.soon()
        if (isActive(run.status)) return false
        current.view = { ...current.view, stopReason: run.stop_reason, error: run.error }
        finish()
        return true
      },
    })
      .catch(() => {
        current.view = { ...current.view, status: 'failed' }
        finish()
      })
      .finally(() => {
        clearTimeout(gapTimer)
        if (controller === own) connection.report('live')
      })
  }
  function stop(): void {
    // A run that is left takes its word of trouble along; another stream reports its own.
    if (controller) connection.report('live')
    controller?.abort()
    controller = null
    reducer = null
  }
  watch(
    () => toValue(runId),
    (id) => {
      stop()
      view.value = null
      if (id) follow(id)
    },
    { immediate: true },
  )
  onScopeDispose(stop)
  return view
}
