import { computed, reactive, toValue, type MaybeRefOrGetter } from 'vue'

const opened = reactive(new Map<string, boolean>())

/** Whether a foldable part is open; remembered by its key, since a virtual list takes parts away and brings them back. */
export function useOpenState(key: MaybeRefOrGetter<string>, initially = false) {
  return computed({
    get: () => opened.get(toValue(key)) ?? initially,
    set: (open: boolean) => void opened.set(toValue(key), open),
  })
}
