import { enterMeaning } from '@/lib/sendKey'
import { usePrefs } from '@/stores/prefs'
import { useBreakpoint } from './useBreakpoint'

/** Enter sends or breaks the line as the settings say; what belongs to an input method is left alone. */
export function useEnterKey(send: () => void) {
  const prefs = usePrefs()
  const { touch } = useBreakpoint()
  let composing = false
  const listeners = {
    compositionstart: () => (composing = true),
    // The committing Enter may come in the same turn, after this event.
    compositionend: () => setTimeout(() => (composing = false)),
    keydown: (event: KeyboardEvent) => {
      if (event.key !== 'Enter' || event.defaultPrevented) return
      if (enterMeaning(event, { composing, sendKey: prefs.sendKey, touch: touch.value }) !== 'send') return
      event.preventDefault()
      send()
    },
  }
  return { listeners, isComposing: () => composing }
}
