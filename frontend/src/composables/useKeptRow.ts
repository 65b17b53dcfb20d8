import { computed, ref, type Ref } from 'vue'
import type { Row } from '@/lib/chatRows'

/**
 * The row that had the focus last stays in the document however far one scrolls: taken away by the virtual list, it would
 * drop the focus to the body, and the keyboard would have no place to go on from.
 */
export function useKeptRow(rows: Ref<Row[]>) {
  const key = ref<string>()
  const kept = computed(() => {
    const at = key.value === undefined ? -1 : rows.value.findIndex((row) => row.key === key.value)
    return at < 0 ? [] : [at]
  })
  function onFocusin(event: FocusEvent): void {
    key.value = (event.target as Element).closest<HTMLElement>('[data-row]')?.dataset.row ?? key.value
  }
  return { kept, onFocusin }
}
