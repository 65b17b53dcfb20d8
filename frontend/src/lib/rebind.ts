import { SHORTCUTS, type Shortcut, type ShortcutId } from './keymap'

/** Choosing other keys: what a browser keeps for itself, and which shortcut has them already. Pure. */
const RESERVED: ReadonlySet<string> = new Set(['mod+t', 'mod+w', 'mod+n', 'mod+l', 'mod+r', 'mod+shift+t', 'mod+shift+n', 'mod+shift+w', 'mod+q', 'tab', 'shift+tab', 'enter', 'escape', ' ', 'alt+f4', 'f5', 'f11', 'f12'])

export const isReserved = (combo: string): boolean => combo.split(' ').some((press) => RESERVED.has(press))
/** A key alone may be the first half of a sequence: `g`, then `h`. */
export const mayLead = (combo: string): boolean => combo.length === 1

/** The shortcut that these keys would be mistaken for: the same keys, or one that begins with the other. */
export function holderOf(combo: string, id: ShortcutId, known: Shortcut[]): ShortcutId | null {
  const clash = (other: string) => other === combo || other.startsWith(`${combo} `) || combo.startsWith(`${other} `)
  return known.find((shortcut) => shortcut.id !== id && shortcut.combos.some(clash))?.id ?? null
}

/** The keys of a shortcut without those that clash with a combo. */
export const without = (combos: string[], combo: string): string[] => combos.filter((other) => other !== combo && !other.startsWith(`${combo} `) && !combo.startsWith(`${other} `))

export const usualKeys = (id: ShortcutId): string[] => SHORTCUTS.find((shortcut) => shortcut.id === id)!.combos
