import { shallowRef } from 'vue'

/** The keyboard map: which keys mean what, with what a person has chosen instead. */

export type ShortcutId =
  | 'palette' | 'newConversation' | 'sidebar' | 'panel' | 'help' | 'focusComposer' | 'find' | 'panes' | 'panesBack'
  | 'previousMessage' | 'nextMessage' | 'editMessage' | 'copyMessage' | 'retryMessage'
  | 'goHome' | 'goFiles' | 'goRuns' | 'goTools' | 'undo' | 'traceNext' | 'tracePrevious' | 'traceFailure'

export interface Shortcut {
  id: ShortcutId
  /** `mod+shift+o`, `?`, or a sequence `g h`. */
  combos: string[]
  group: 'general' | 'chat' | 'trace' | 'go'
  hidden?: boolean
}

export const SHORTCUTS: Shortcut[] = [
  { id: 'palette', combos: ['mod+k'], group: 'general' },
  { id: 'newConversation', combos: ['mod+shift+o'], group: 'general' },
  { id: 'sidebar', combos: ['mod+b'], group: 'general' },
  { id: 'panel', combos: ['mod+.'], group: 'general' },
  { id: 'help', combos: ['mod+/', '?'], group: 'general' },
  { id: 'panes', combos: ['f6'], group: 'general' },
  { id: 'panesBack', combos: ['shift+f6'], group: 'general', hidden: true },
  { id: 'undo', combos: ['z'], group: 'general' },
  { id: 'focusComposer', combos: ['/'], group: 'chat' },
  { id: 'find', combos: ['mod+f'], group: 'chat' },
  { id: 'previousMessage', combos: ['alt+arrowup'], group: 'chat' },
  { id: 'nextMessage', combos: ['alt+arrowdown'], group: 'chat' },
  { id: 'editMessage', combos: ['e'], group: 'chat' },
  { id: 'copyMessage', combos: ['c'], group: 'chat' },
  { id: 'retryMessage', combos: ['r'], group: 'chat' },
  { id: 'traceNext', combos: ['j'], group: 'trace' },
  { id: 'tracePrevious', combos: ['k'], group: 'trace' },
  { id: 'traceFailure', combos: ['n'], group: 'trace' },
  { id: 'goHome', combos: ['g h'], group: 'go' },
  { id: 'goFiles', combos: ['g f'], group: 'go' },
  { id: 'goRuns', combos: ['g r'], group: 'go' },
  { id: 'goTools', combos: ['g t'], group: 'go' },
]

/** Own keys for some of them; an empty list switches one off. */
export type Bindings = Partial<Record<ShortcutId, string[]>>
const own = shallowRef<Bindings>({})
export const setBindings = (bindings: Bindings): void => void (own.value = bindings)
export const shortcuts = (): Shortcut[] => SHORTCUTS.map((shortcut) => ({ ...shortcut, combos: own.value[shortcut.id] ?? shortcut.combos }))

export const SEQUENCE_MS = 1_200

export const isMac = (): boolean => /Mac|iPhone|iPad/.test(navigator.platform)

/** The event as a combo in the map's spelling; empty for a bare modifier or a key inside an input method. */
export function comboOf(event: KeyboardEvent, mac = isMac()): string {
  if (event.isComposing || event.keyCode === 229) return ''
  const key = event.key.toLowerCase()
  if (['control', 'shift', 'alt', 'meta', 'dead', 'process'].includes(key)) return ''
  const mod = mac ? event.metaKey : event.ctrlKey
  if (mac ? event.ctrlKey : event.metaKey) return ''
  const printable = key.length === 1 && !/[a-z0-9]/.test(key)
  const shift = event.shiftKey && !printable ? 'shift+' : ''
  return `${mod ? 'mod+' : ''}${event.altKey ? 'alt+' : ''}${shift}${key}`
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName) || Boolean(target.closest('[role="textbox"],[role="menu"],[role="listbox"]'))
}

const isSingle = (combo: string) => !combo.includes('mod+') && !combo.includes('alt+') && !/^(shift\+)?f\d/.test(combo)

/** Turns key events into shortcut ids; remembers the first half of a sequence. */
export function createMatcher(now: () => number = Date.now) {
  let pending = ''
  let pendingAt = 0

  return function match(combo: string, options: { typing: boolean; singleKeys: boolean }): ShortcutId | null {
    if (!combo) return null
    const sequence = pending && now() - pendingAt < SEQUENCE_MS ? `${pending} ${combo}` : ''
    pending = ''
    const blocked = isSingle(combo) && (options.typing || !options.singleKeys)
    if (blocked) return null
    const known = shortcuts()
    const find = (wanted: string) => known.find((shortcut) => shortcut.combos.includes(wanted))?.id ?? null
    const found = (sequence && find(sequence)) || find(combo)
    if (!found && known.some((shortcut) => shortcut.combos.some((other) => other.startsWith(`${combo} `)))) {
      pending = combo
      pendingAt = now()
    }
    return found
  }
}

const NAMES: Record<string, string> = { arrowup: '↑', arrowdown: '↓', arrowleft: '←', arrowright: '→', shift: 'Shift', alt: 'Alt', enter: 'Enter', escape: 'Esc' }

/** A combo as people read it: `Ctrl+Shift+O`, `⌘K`, `G H`. */
export function comboLabel(combo: string, mac = isMac()): string {
  const part = (name: string) => {
    if (name === 'mod') return mac ? '⌘' : 'Ctrl'
    return NAMES[name] ?? (name.length === 1 ? name.toUpperCase() : name.replace(/^f(\d)/, 'F$1'))
  }
  return combo.split(' ').map((press) => press.split('+').map(part).join(mac ? '' : '+')).join(' ')
}

export const labelOf = (id: ShortcutId): string => comboLabel(shortcuts().find((shortcut) => shortcut.id === id)?.combos[0] ?? '')
