import { onBeforeUnmount, onMounted, watch } from 'vue'
import { comboOf, createMatcher, isTyping, setBindings, type ShortcutId } from '@/lib/keymap'
import { usePrefs } from '@/stores/prefs'

/** A handler may return false: "not mine now"; the next older handler is asked, then the browser acts. */
type Handler = (event: KeyboardEvent | null) => void | boolean

const handlers = new Map<ShortcutId, Handler[]>()

/** Runs the newest handler of a shortcut, as a key press or the palette would. */
export function runShortcut(id: ShortcutId, event: KeyboardEvent | null = null): boolean {
  return [...(handlers.get(id) ?? [])].reverse().some((handler) => handler(event) !== false)
}
export const hasShortcut = (id: ShortcutId): boolean => Boolean(handlers.get(id)?.length)

/** While the component lives, `handler` answers the shortcut. */
export function useShortcut(id: ShortcutId, handler: Handler): void {
  onMounted(() => handlers.set(id, [...(handlers.get(id) ?? []), handler]))
  onBeforeUnmount(() => handlers.set(id, (handlers.get(id) ?? []).filter((other) => other !== handler)))
}

/** Listens for keys; used once, by the shell. */
export function useShortcutListener(): void {
  const prefs = usePrefs()
  const match = createMatcher()
  watch(() => prefs.keys, setBindings, { immediate: true })
  function onKey(event: KeyboardEvent): void {
    if (event.defaultPrevented) return
    const id = match(comboOf(event), { typing: isTyping(event.target), singleKeys: prefs.singleKeys })
    if (id && runShortcut(id, event)) event.preventDefault()
  }
  onMounted(() => window.addEventListener('keydown', onKey))
  onBeforeUnmount(() => window.removeEventListener('keydown', onKey))
}
