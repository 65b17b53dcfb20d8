import { onBeforeUnmount, ref, watch } from 'vue'

const whenIdle = (run: () => void) => ('requestIdleCallback' in window ? requestIdleCallback(run, { timeout: 500 }) : setTimeout(run, 1))

/** Highlighted HTML of a finished code, or null while there is none; the highlighter is loaded on first use. */
export function useHighlight(code: () => string, language: () => string) {
  const html = ref<string | null>(null)
  let alive = true
  watch(
    [code, language],
    ([text, name]) => {
      html.value = null
      if (!text || !name) return
      whenIdle(async () => {
        const { highlight } = await import('@/lib/markdown/highlight')
        if (alive && text === code()) html.value = highlight(text, name)
      })
    },
    { immediate: true },
  )
  onBeforeUnmount(() => (alive = false))
  return html
}
