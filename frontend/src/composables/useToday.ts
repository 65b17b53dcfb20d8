import { onScopeDispose, ref } from 'vue'

const today = ref(Date.now())
let timer: ReturnType<typeof setTimeout> | undefined
let users = 0

function look(): void {
  const now = new Date()
  if (new Date(today.value).toDateString() !== now.toDateString()) today.value = now.getTime()
  clearTimeout(timer)
  timer = setTimeout(look, new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1).getTime() - now.getTime() + 1)
}

/** A moment of the day that it is: changes at midnight, and when a page that slept through it is looked at again. */
export function useToday() {
  if (!users++) document.addEventListener('visibilitychange', look)
  look()
  onScopeDispose(() => {
    if (--users) return
    clearTimeout(timer)
    document.removeEventListener('visibilitychange', look)
  })
  return today
}
