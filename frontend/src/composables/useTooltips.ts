import { nextTick, onBeforeUnmount, onMounted, ref, shallowRef, type Ref } from 'vue'

const DELAY_MS = 450
const LEAVE_MS = 120
/** A second tooltip soon after the first needs no delay. */
const WARM_MS = 300
const GAP_PX = 6
const EDGE_PX = 8

interface Tip {
  text: string
  key: string
}

/** Follows pointer and focus over the page and says which `data-tip` to show, and where. */
export function useTooltips(layer: Readonly<Ref<HTMLElement | null>>) {
  const tip = shallowRef<Tip | null>(null)
  const place = ref<Record<string, string>>({ visibility: 'hidden' })
  let anchor: HTMLElement | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let hiddenAt = 0

  function position(): void {
    if (!anchor || !layer.value) return
    const box = anchor.getBoundingClientRect()
    const own = layer.value.getBoundingClientRect()
    const beside = anchor.dataset.tipSide === 'right'
    const below = box.bottom + GAP_PX + own.height < innerHeight - EDGE_PX
    const top = beside ? box.top + (box.height - own.height) / 2 : below ? box.bottom + GAP_PX : box.top - GAP_PX - own.height
    const left = beside ? box.right + GAP_PX : box.left + (box.width - own.width) / 2
    place.value = { insetBlockStart: `${top}px`, insetInlineStart: `${Math.max(EDGE_PX, Math.min(left, innerWidth - own.width - EDGE_PX))}px` }
  }
  async function show(target: HTMLElement): Promise<void> {
    anchor = target
    tip.value = { text: target.dataset.tip ?? '', key: target.dataset.tipKey ?? '' }
    place.value = { visibility: 'hidden' }
    await nextTick()
    position()
  }
  function hide(): void {
    clearTimeout(timer)
    if (tip.value) hiddenAt = Date.now()
    tip.value = null
    anchor = null
  }
  const tipOf = (event: Event) => (event.target instanceof Element ? event.target.closest<HTMLElement>('[data-tip]') : null)

  function onOver(event: PointerEvent): void {
    if (event.pointerType === 'touch') return
    if (event.target instanceof Node && layer.value?.contains(event.target)) return clearTimeout(timer)
    const target = tipOf(event)
    if (target === anchor && target) return clearTimeout(timer)
    clearTimeout(timer)
    if (target) timer = setTimeout(() => void show(target), tip.value || Date.now() - hiddenAt < WARM_MS ? 0 : DELAY_MS)
    else if (tip.value) timer = setTimeout(hide, LEAVE_MS)
  }
  function onFocus(event: FocusEvent): void {
    const target = tipOf(event)
    if (target?.matches(':focus-visible')) void show(target)
    else hide()
  }
  const onKey = (event: KeyboardEvent) => event.key === 'Escape' && hide()
  const listeners: [string, EventListener][] = [['pointerover', onOver as EventListener], ['focusin', onFocus as EventListener], ['focusout', hide], ['pointerdown', hide], ['keydown', onKey as EventListener], ['scroll', hide]]
  onMounted(() => listeners.forEach(([name, listener]) => document.addEventListener(name, listener, { capture: true, passive: true })))
  onBeforeUnmount(() => {
    clearTimeout(timer)
    listeners.forEach(([name, listener]) => document.removeEventListener(name, listener, { capture: true }))
  })
  return { tip, place }
}
