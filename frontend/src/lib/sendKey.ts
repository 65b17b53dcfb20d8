/** What Enter means in the composer. An Enter that belongs to an input method never sends. */
export type EnterMeaning = 'send' | 'newline' | 'input-method'

export interface EnterContext {
  /** Own flag between compositionstart and the end of the turn after compositionend. */
  composing: boolean
  sendKey: 'enter' | 'mod-enter'
  touch: boolean
}

type EnterEvent = Pick<KeyboardEvent, 'isComposing' | 'keyCode' | 'shiftKey' | 'ctrlKey' | 'metaKey' | 'altKey'>

// Safari sends the committing Enter after compositionend, with this code.
const IME_KEY_CODE = 229

export function enterMeaning(event: EnterEvent, { composing, sendKey, touch }: EnterContext): EnterMeaning {
  if (event.isComposing || composing || event.keyCode === IME_KEY_CODE) return 'input-method'
  if (event.ctrlKey || event.metaKey) return 'send'
  if (event.shiftKey || event.altKey || touch) return 'newline'
  return sendKey === 'enter' ? 'send' : 'newline'
}
