import { describe, expect, it } from 'vitest'
import { comboLabel, comboOf, createMatcher, SHORTCUTS } from './keymap'

const press = (key: string, init: KeyboardEventInit = {}) => new KeyboardEvent('keydown', { key, ...init })
const free = { typing: false, singleKeys: true }

describe('keyboard map', () => {
  it('gives each combo one meaning', () => {
    const combos = SHORTCUTS.flatMap((shortcut) => shortcut.combos)
    expect(new Set(combos).size).toBe(combos.length)
  })

  it('reads Ctrl as mod on PCs and Cmd on Macs', () => {
    expect(comboOf(press('k', { ctrlKey: true }), false)).toBe('mod+k')
    expect(comboOf(press('k', { metaKey: true }), true)).toBe('mod+k')
    expect(comboOf(press('k', { ctrlKey: true }), true)).toBe('')
    expect(comboOf(press('O', { ctrlKey: true, shiftKey: true }), false)).toBe('mod+shift+o')
    expect(comboOf(press('?', { shiftKey: true }), false)).toBe('?')
  })

  it('leaves keys alone that belong to an input method', () => {
    expect(comboOf(press('k', { ctrlKey: true, isComposing: true }), false)).toBe('')
    expect(comboOf(press('Enter', { keyCode: 229 } as KeyboardEventInit), false)).toBe('')
  })

  it('does not take single letters while someone types, nor when they are off', () => {
    const match = createMatcher()
    expect(match('?', free)).toBe('help')
    expect(match('?', { typing: true, singleKeys: true })).toBeNull()
    expect(match('?', { typing: false, singleKeys: false })).toBeNull()
    expect(match('mod+k', { typing: true, singleKeys: false })).toBe('palette')
  })

  it('understands G then H, but not after a pause', () => {
    let now = 0
    const match = createMatcher(() => now)
    expect(match('g', free)).toBeNull()
    expect(match('h', free)).toBe('goHome')
    match('g', free)
    now = 5_000
    expect(match('h', free)).toBeNull()
  })

  it('writes combos as people read them', () => {
    expect(comboLabel('mod+shift+o', false)).toBe('Ctrl+Shift+O')
    expect(comboLabel('mod+k', true)).toBe('⌘K')
    expect(comboLabel('g h', false)).toBe('G H')
  })

  it('never overrides the keys of the browser window', () => {
    const taken = ['mod+t', 'mod+w', 'mod+n', 'mod+l', 'mod+r']
    expect(SHORTCUTS.flatMap((shortcut) => shortcut.combos).filter((combo) => taken.includes(combo))).toEqual([])
  })
})
