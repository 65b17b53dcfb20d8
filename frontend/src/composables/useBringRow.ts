import type { VirtualizerHandle } from 'virtua/vue'
import { onBeforeUnmount, onMounted, type Ref } from 'vue'

const STILL_FRAMES = 4
const MOST_FRAMES = 90
const ABOVE_PART_PX = 80
const READER_MOVES = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const

/**
 * Brings a row of the virtual list to the middle (a taller one to the top), and again while the rows around it are
 * measured. The reader's own move ends that at once; the list's own `scrollToIndex` would go on, and while an answer
 * grows, without end.
 */
export function useBringRow(list: Ref<VirtualizerHandle | null>, scroller: Ref<HTMLElement | null>) {
  let frame = 0
  const cancel = () => cancelAnimationFrame(frame)

  /** `part`: what in the row is to be seen, once it is there. */
  function bring(index: number, part: () => Element | undefined = () => undefined): void {
    cancel()
    let still = 0
    let left = MOST_FRAMES
    const place = () => {
      const { value: rows } = list
      const { value: box } = scroller
      if (!rows || !box) return
      const within = part()
      const wanted = within
        ? box.scrollTop + within.getBoundingClientRect().top - box.getBoundingClientRect().top - ABOVE_PART_PX
        : rows.getItemOffset(index) - Math.max(0, box.clientHeight - rows.getItemSize(index)) / 2
      const top = Math.round(Math.max(0, Math.min(wanted, box.scrollHeight - box.clientHeight)))
      still = Math.abs(box.scrollTop - top) <= 1 ? still + 1 : 0
      if (!still) box.scrollTop = top
      if (still < STILL_FRAMES && left--) frame = requestAnimationFrame(place)
    }
    place()
  }
  onMounted(() => READER_MOVES.forEach((name) => scroller.value?.addEventListener(name, cancel, { passive: true })))
  onBeforeUnmount(cancel)
  return bring
}
