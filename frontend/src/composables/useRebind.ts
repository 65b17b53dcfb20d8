import { onBeforeUnmount, ref } from 'vue'
import { comboOf, SEQUENCE_MS, shortcuts, type ShortcutId } from '@/lib/keymap'
import { holderOf, isReserved, mayLead, usualKeys, without } from '@/lib/rebind'
import { usePrefs } from '@/stores/prefs'

/** Keys that cannot be given; `holder` has them already, or else the browser keeps them. */
export interface Clash {
  id: ShortcutId
  combo: string
  holder: ShortcutId | null
}

/** Choosing other keys for shortcuts, one at a time. */
export function useRebind() {
  const prefs = usePrefs()
  const recording = ref<ShortcutId | null>(null)
  const pressed = ref('')
  const clash = ref<Clash | null>(null)
  let timer: ReturnType<typeof setTimeout> | undefined

  function stop(): void {
    clearTimeout(timer)
    recording.value = null
    pressed.value = ''
  }
  function record(id: ShortcutId): void {
    stop()
    clash.value = null
    recording.value = id
  }
  function set(id: ShortcutId, combos: string[]): void {
    const next = { ...prefs.keys }
    if (combos.join() === usualKeys(id).join()) delete next[id]
    else next[id] = combos
    prefs.keys = next
  }
  function settle(combo: string): void {
    const id = recording.value
    stop()
    if (!id) return
    const holder = holderOf(combo, id, shortcuts())
    if (isReserved(combo) || holder) clash.value = { id, combo, holder: isReserved(combo) ? null : holder }
    else set(id, [combo])
  }
  function onKey(event: KeyboardEvent): void {
    if (!recording.value) return
    if (event.key === 'Tab' || event.key === 'Escape') return stop()
    event.preventDefault()
    event.stopPropagation()
    const combo = comboOf(event)
    if (!combo) return
    clearTimeout(timer)
    const whole = pressed.value ? `${pressed.value} ${combo}` : combo
    if (pressed.value || !mayLead(combo)) return settle(whole)
    pressed.value = combo
    timer = setTimeout(() => settle(combo), SEQUENCE_MS)
  }
  /** Takes the keys from the shortcut that has them. */
  function takeOver(): void {
    const found = clash.value
    clash.value = null
    if (!found?.holder) return
    for (const shortcut of shortcuts()) if (shortcut.id !== found.id) {
      const left = without(shortcut.combos, found.combo)
      if (left.length < shortcut.combos.length) set(shortcut.id, left)
    }
    set(found.id, [found.combo])
  }
  const isOwn = (id: ShortcutId): boolean => id in prefs.keys
  function reset(id?: ShortcutId): void {
    clash.value = null
    if (!id) prefs.keys = {}
    else {
      const holder = usualKeys(id).map((combo) => ({ combo, holder: holderOf(combo, id, shortcuts()) })).find((found) => found.holder)
      if (holder) clash.value = { id, ...holder }
      else set(id, usualKeys(id))
    }
  }
  onBeforeUnmount(stop)
  return { recording, pressed, clash, record, stop, onKey, set, takeOver, isOwn, reset }
}
