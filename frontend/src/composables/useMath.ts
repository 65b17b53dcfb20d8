import { computed, onBeforeUnmount, shallowRef, watch } from 'vue'

const MARK = 'class="math'
let drawing: typeof import('@/lib/markdown/mathml') | null = null

/** The HTML of a block, its formulas drawn once the block is `settled`; what draws is fetched with the first one. */
export function useMath(html: () => string, settled: () => boolean) {
  const drawn = shallowRef<string | null>(null)
  let alive = true
  async function draw(text: string): Promise<void> {
    drawing ??= await import('@/lib/markdown/mathml').catch(() => null)
    if (alive && drawing && text === html()) drawn.value = drawing.renderMath(text)
  }
  watch(
    [html, settled],
    ([text, ready]) => {
      drawn.value = null
      if (!ready || !text.includes(MARK)) return
      // At once where that can be, so that rows of a virtual list do not change their height after they were measured.
      if (drawing) drawn.value = drawing.renderMath(text)
      else void draw(text)
    },
    { immediate: true },
  )
  onBeforeUnmount(() => (alive = false))
  return computed(() => drawn.value ?? html())
}
