import { nextTick, onMounted, watch, type Ref } from 'vue'

const native = typeof CSS !== 'undefined' && (CSS.supports?.('field-sizing', 'content') ?? false)

/** Lets a text field grow with its text where the browser cannot do that by itself. CSS sets the limits. */
export function useAutogrow(field: Ref<HTMLTextAreaElement | null>, text: Ref<string>): void {
  if (native) return
  async function fit(): Promise<void> {
    await nextTick()
    const element = field.value
    if (!element) return
    element.style.height = 'auto'
    element.style.height = `${element.scrollHeight + 2}px`
  }
  onMounted(fit)
  watch(text, fit)
}
