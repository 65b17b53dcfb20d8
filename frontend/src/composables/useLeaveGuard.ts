import { onBeforeUnmount, onMounted, ref } from 'vue'
import { onBeforeRouteLeave, onBeforeRouteUpdate, type RouteLocationNormalized } from 'vue-router'

/** Asks before unsaved work is left: `asking` opens the question, `answer` gives the word. */
export function useLeaveGuard(unsaved: () => boolean, stays: (to: RouteLocationNormalized) => boolean) {
  const asking = ref(false)
  let decide: (leave: boolean) => void = () => {}

  function guard(to: RouteLocationNormalized): boolean | Promise<boolean> {
    if (!unsaved() || stays(to)) return true
    asking.value = true
    return new Promise<boolean>((resolve) => (decide = resolve))
  }
  function answer(leave: boolean): void {
    asking.value = false
    decide(leave)
  }
  const onUnload = (event: BeforeUnloadEvent) => unsaved() && event.preventDefault()
  onBeforeRouteLeave(guard)
  onBeforeRouteUpdate(guard)
  onMounted(() => window.addEventListener('beforeunload', onUnload))
  onBeforeUnmount(() => window.removeEventListener('beforeunload', onUnload))
  return { asking, answer }
}
