import { nextTick, onBeforeUnmount, onMounted, ref, type Ref } from 'vue'

const NEAR_END_PX = 80
const HOLD_ENDS = ['pointerup', 'pointercancel'] as const
const UP_KEYS = new Set(['ArrowUp', 'PageUp', 'Home'])

/** Keeps the end in sight while the reader is there; any move upwards stops that at once. `atEnd`: the list holds the newest. */
export function useFollowScroll(scroller: Ref<HTMLElement | null>, atEnd: Ref<boolean>) {
  const following = ref(true)
  let observer: ResizeObserver | undefined
  let touchY = 0
  /** The next scroll event tells of our own move, and comes a frame later: who left the end meanwhile has left it. */
  let own = false

  const distance = () => {
    const element = scroller.value
    return element ? element.scrollHeight - element.scrollTop - element.clientHeight : 0
  }
  function toEnd(smooth = false): void {
    following.value = true
    const before = scroller.value?.scrollTop
    scroller.value?.scrollTo({ top: scroller.value.scrollHeight, behavior: smooth && !matchMedia('(prefers-reduced-motion: reduce)').matches ? 'smooth' : 'instant' })
    own = scroller.value?.scrollTop !== before
  }
  const stick = () => following.value && distance() > 1 && toEnd()
  const release = () => {
    following.value = false
  }
  const onWheel = (event: WheelEvent) => event.deltaY < 0 && distance() + Math.abs(event.deltaY) > 0 && release()
  const onKey = (event: KeyboardEvent) => UP_KEYS.has(event.key) && !(event.target instanceof HTMLTextAreaElement) && release()
  const onTouchStart = (event: TouchEvent) => (touchY = event.touches[0]?.clientY ?? 0)
  const onTouchMove = (event: TouchEvent) => (event.touches[0]?.clientY ?? 0) > touchY + 4 && release()
  let lastTop = 0
  let held = false
  const onHold = (event: PointerEvent) => (held = event.type === 'pointerdown')
  function onScroll(): void {
    const { scrollTop = 0 } = scroller.value ?? {}
    if (distance() <= NEAR_END_PX && scrollTop >= lastTop && atEnd.value && !own) following.value = true
    // Upwards by the scrollbar. Without a pointer held down it is a row that was measured anew, not the reader.
    else if (held && distance() > NEAR_END_PX && scrollTop < lastTop - 2) release()
    lastTop = scrollTop
    own = false
  }
  onMounted(async () => {
    await nextTick()
    const element = scroller.value
    if (!element) return
    element.addEventListener('wheel', onWheel, { passive: true })
    element.addEventListener('keydown', onKey)
    element.addEventListener('touchstart', onTouchStart, { passive: true })
    element.addEventListener('touchmove', onTouchMove, { passive: true })
    element.addEventListener('scroll', onScroll, { passive: true })
    element.addEventListener('pointerdown', onHold)
    for (const end of HOLD_ENDS) window.addEventListener(end, onHold)
    // Every growth, be it text, a picture or a measured row, moves the end.
    observer = new ResizeObserver(stick)
    observer.observe(element)
    for (const child of element.children) observer.observe(child)
  })
  onBeforeUnmount(() => {
    observer?.disconnect()
    for (const end of HOLD_ENDS) window.removeEventListener(end, onHold)
  })
  return { following, toEnd, release, stick }
}
