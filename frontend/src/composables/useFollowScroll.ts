import { nextTick, onBeforeUnmount, onMounted, ref, type Ref } from 'vue'

const NEAR_END_PX = 80
const HOLD_ENDS = ['pointerup', 'pointercancel'] as const
const INPUTS = ['wheel', 'keydown', 'pointerdown', 'touchstart'] as const
const UP_KEYS = new Set(['ArrowUp', 'PageUp', 'Home'])
const DOWN_KEYS = new Set(['ArrowDown', 'PageDown', 'End', ' '])

/** Keeps the end in sight while the reader is there; any move upwards stops that at once. `atEnd`: the list holds the newest. */
export function useFollowScroll(scroller: Ref<HTMLElement | null>, atEnd: Ref<boolean>) {
  const following = ref(true)
  /** There is something further down than what is in sight. */
  const away = ref(false)
  let observer: ResizeObserver | undefined
  let touchY = 0
  /** The reader moves down. Scroll events alone do not tell: they come a frame late, and of the page's own moves too. */
  let returning = false

  const distance = () => {
    const element = scroller.value
    return element ? element.scrollHeight - element.scrollTop - element.clientHeight : 0
  }
  function toEnd(smooth = false): void {
    following.value = true
    scroller.value?.scrollTo({ top: scroller.value.scrollHeight, behavior: smooth && !matchMedia('(prefers-reduced-motion: reduce)').matches ? 'smooth' : 'instant' })
  }
  function stick(): void {
    if (following.value && distance() > 1) toEnd()
    away.value = distance() > NEAR_END_PX
  }
  /** What the reader let stand still, and where it stood: the list takes the growth of a row that begins further up for a jump. */
  let anchor: { row: Element; top: number } | null = null
  const topOf = (row: Element) => row.getBoundingClientRect().top
  const letGo = () => (anchor = null)
  const release = () => {
    following.value = false
    returning = false
    letGo()
  }
  /** The reader wants the page to stand still. */
  function stop(): void {
    release()
    const row = [...(scroller.value?.querySelectorAll('article') ?? [])].at(-1)
    anchor = row ? { row, top: topOf(row) } : null
  }
  function standStill(): void {
    const moved = anchor?.row.isConnected ? topOf(anchor.row) - anchor.top : 0
    if (moved < -1) scroller.value?.scrollBy({ top: moved, behavior: 'instant' })
  }
  const moves = (down: boolean) => (down ? (returning = true) : release())
  const onWheel = (event: WheelEvent) => event.deltaY && moves(event.deltaY > 0)
  // What is unfolded grows under the hand of the reader, who wants to see its beginning.
  const onClick = (event: MouseEvent) => (event.target as Element).closest('[aria-expanded]:not([aria-haspopup]), [role=tab], summary') && release()
  const onKey = (event: KeyboardEvent) => !(event.target instanceof HTMLTextAreaElement) && (UP_KEYS.has(event.key) || DOWN_KEYS.has(event.key)) && moves(DOWN_KEYS.has(event.key))
  const onTouchStart = (event: TouchEvent) => (touchY = event.touches[0]?.clientY ?? 0)
  function onTouchMove(event: TouchEvent): void {
    const by = (event.touches[0]?.clientY ?? 0) - touchY
    if (Math.abs(by) > 4) moves(by < 0)
  }
  let lastTop = 0
  let held = false
  const onHold = (event: PointerEvent) => (held = event.type === 'pointerdown')
  function onScroll(): void {
    standStill()
    const { scrollTop = 0 } = scroller.value ?? {}
    if (distance() <= NEAR_END_PX && scrollTop >= lastTop && atEnd.value && (returning || held)) following.value = true
    // Upwards by the scrollbar. Without a pointer held down it is a row that was measured anew, not the reader.
    else if (held && distance() > NEAR_END_PX && scrollTop < lastTop - 2) release()
    away.value = distance() > NEAR_END_PX
    lastTop = scrollTop
  }
  onMounted(async () => {
    await nextTick()
    const element = scroller.value
    if (!element) return
    element.addEventListener('wheel', onWheel, { passive: true })
    element.addEventListener('keydown', onKey)
    element.addEventListener('click', onClick, { capture: true })
    element.addEventListener('touchstart', onTouchStart, { passive: true })
    element.addEventListener('touchmove', onTouchMove, { passive: true })
    element.addEventListener('scroll', onScroll, { passive: true })
    element.addEventListener('pointerdown', onHold)
    for (const end of HOLD_ENDS) window.addEventListener(end, onHold)
    // Whatever is pressed or moved may lead elsewhere: seen before its own listeners, which may take hold again.
    for (const input of INPUTS) window.addEventListener(input, letGo, { capture: true, passive: true })
    // Every growth, be it text, a picture or a measured row, moves the end.
    observer = new ResizeObserver(stick)
    observer.observe(element)
    for (const child of element.children) observer.observe(child)
  })
  onBeforeUnmount(() => {
    observer?.disconnect()
    for (const end of HOLD_ENDS) window.removeEventListener(end, onHold)
    for (const input of INPUTS) window.removeEventListener(input, letGo, { capture: true })
  })
  return { following, away, toEnd, release, stop }
}
