import { computed, reactive, toValue, type MaybeRefOrGetter } from 'vue'

const opened = reactive(new Map<string, boolean>())

/** The names of what folds in an answer. */
export const callKey = (runId: string | null | undefined, callId: string): string => `call:${runId ?? ''}:${callId}`
export const groupKey = (runId: string | null | undefined, firstCallId: string | undefined): string => `group:${runId ?? ''}:${firstCallId}`
export const unfold = (key: string): void => void opened.set(key, true)

/** Whether a foldable part is open; remembered by its key, since a virtual list takes parts away and brings them back. */
export function useOpenState(key: MaybeRefOrGetter<string>, initially = false) {
  return computed({
    get: () => opened.get(toValue(key)) ?? initially,
    set: (open: boolean) => void opened.set(toValue(key), open),
  })
}
