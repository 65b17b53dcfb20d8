import { afterEach, describe, expect, it } from 'vitest'
import { createMatcher, labelOf, setBindings, SHORTCUTS, shortcuts } from './keymap'
import { holderOf, isReserved, usualKeys, without } from './rebind'

afterEach(() => setBindings({}))
const free = { typing: false, singleKeys: true }

describe('own keys', () => {
  it('mean what the usual ones meant, and those mean nothing more', () => {
    setBindings({ palette: ['mod+shift+p'], undo: [] })
    const match = createMatcher()
    expect(match('mod+shift+p', free)).toBe('palette')
    expect(match('mod+k', free)).toBeNull()
    expect(match('z', free)).toBeNull()
    expect(match('mod+b', free)).toBe('sidebar')
    expect([labelOf('undo'), labelOf('palette')]).toEqual(['', 'Ctrl+Shift+P'])
  })

  it('may be a sequence', () => {
    setBindings({ goHome: ['q w'] })
    const match = createMatcher()
    expect(match('q', free)).toBeNull()
    expect(match('w', free)).toBe('goHome')
  })

  it.each([
    ['mod+k', 'undo', 'palette'], ['mod+k', 'palette', null], ['g', 'undo', 'goHome'], ['g h', 'undo', 'goHome'], ['j x', 'undo', 'traceNext'], ['mod+shift+y', 'undo', null],
  ] as const)('%s for %s is held by %s', (combo, id, holder) => expect(holderOf(combo, id, shortcuts())).toBe(holder))

  it('never take the keys of the browser window', () => {
    expect(['mod+t', 'mod+w', 'g enter', 'escape'].map(isReserved)).toEqual([true, true, true, true])
    expect(SHORTCUTS.flatMap((shortcut) => shortcut.combos).filter(isReserved)).toEqual([])
  })

  it('are taken from another shortcut one by one', () => {
    expect(without(usualKeys('help'), '?')).toEqual(['mod+/'])
    expect(without(['g h', 'alt+1'], 'g')).toEqual(['alt+1'])
  })
})
