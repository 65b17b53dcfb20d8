import { defineStore } from 'pinia'
import { ref } from 'vue'

export interface Toast {
  id: number
  text: string
  tone: 'info' | 'danger'
  duration: number
  action?: { label: string; run: () => void; undo: boolean }
}

const USUAL_MS = 6_000
const UNDO_MS = 10_000
const MOST_SHOWN = 4

/** Short notes in the corner. They never carry the only copy of an error. */
export const useToasts = defineStore('toasts', () => {
  const items = ref<Toast[]>([])
  let lastId = 0

  function add(toast: Omit<Toast, 'id'>): number {
    lastId += 1
    items.value = [...items.value, { ...toast, id: lastId }].slice(-MOST_SHOWN)
    return lastId
  }
  const dismiss = (id: number) => {
    items.value = items.value.filter((toast) => toast.id !== id)
  }
  const show = (text: string) => add({ text, tone: 'info', duration: USUAL_MS })
  const fail = (text: string) => add({ text, tone: 'danger', duration: USUAL_MS })
  const offer = (text: string, label: string, run: () => void) =>
    add({ text, tone: 'info', duration: UNDO_MS, action: { label, run, undo: false } })
  /** Says what was done and offers to take it back, by button or by Z, for ten seconds. */
  const undoable = (text: string, label: string, run: () => void) =>
    add({ text, tone: 'info', duration: UNDO_MS, action: { label, run, undo: true } })

  function act(id: number): void {
    const toast = items.value.find((item) => item.id === id)
    dismiss(id)
    toast?.action?.run()
  }
  function undoLatest(): boolean {
    const toast = [...items.value].reverse().find((item) => item.action?.undo)
    if (toast) act(toast.id)
    return Boolean(toast)
  }
  return { items, show, fail, offer, undoable, dismiss, act, undoLatest }
})
