import { onScopeDispose, ref, watch } from 'vue'

const TICK_MS = 1_000

/** The time, once a second while `active`; for clocks on the page. */
export function useNow(active: () => boolean) {
  const now = ref(Date.now())
  let timer: ReturnType<typeof setInterval> | undefined
  watch(
    active,
    (on) => {
      clearInterval(timer)
      now.value = Date.now()
      if (on) timer = setInterval(() => (now.value = Date.now()), TICK_MS)
    },
    { immediate: true },
  )
  onScopeDispose(() => clearInterval(timer))
  return now
}
