import { describe, expect, it } from 'vitest'
import { enterMeaning, type EnterContext } from './sendKey'

const usual: EnterContext = { composing: false, sendKey: 'enter', touch: false }
const enter = (more: Partial<KeyboardEvent> = {}) => ({ isComposing: false, keyCode: 13, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...more })

describe('Enter in the composer', () => {
  it('sends, or makes a new line with Shift', () => {
    expect(enterMeaning(enter(), usual)).toBe('send')
    expect(enterMeaning(enter({ shiftKey: true }), usual)).toBe('newline')
  })

  it('never sends while an input method composes', () => {
    expect(enterMeaning(enter({ isComposing: true }), usual)).toBe('input-method')
  })

  it('never sends the Enter that commits a candidate, although composition has ended (Safari)', () => {
    expect(enterMeaning(enter({ keyCode: 229 }), usual)).toBe('input-method')
  })

  it('never sends while our own flag says that composition goes on', () => {
    expect(enterMeaning(enter({ ctrlKey: true }), { ...usual, composing: true })).toBe('input-method')
  })

  it('follows the setting, and Mod+Enter sends always', () => {
    expect(enterMeaning(enter(), { ...usual, sendKey: 'mod-enter' })).toBe('newline')
    expect(enterMeaning(enter({ ctrlKey: true }), { ...usual, sendKey: 'mod-enter' })).toBe('send')
    expect(enterMeaning(enter({ metaKey: true }), usual)).toBe('send')
  })

  it('makes a new line on touch keyboards, which have no Shift+Enter', () => {
    expect(enterMeaning(enter(), { ...usual, touch: true })).toBe('newline')
  })
})
