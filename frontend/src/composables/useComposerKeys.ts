import type { Ref } from 'vue'
import { useChat } from './useChat'
import { stopFollowing } from './useJump'

const TWICE_MS = 700

/** Up in an empty composer edits the last message; Esc stops following the answer, twice it stops the run. */
export function useComposerKeys(text: Ref<string>) {
  const chat = useChat()
  let escapedAt = 0

  function onKey(event: KeyboardEvent): boolean {
    if (event.isComposing || event.altKey) return false
    if (event.key === 'ArrowUp' && !text.value && !chat.running.value) {
      const last = chat.shownMessages.value.findLast((message) => message.role === 'user')
      if (!last) return false
      chat.editing.value = last.id
      event.preventDefault()
      return true
    }
    if (event.key === 'Escape' && chat.running.value) {
      const twice = Date.now() - escapedAt < TWICE_MS
      escapedAt = Date.now()
      if (twice) void chat.stop()
      else stopFollowing()
      return twice
    }
    return false
  }
  return { onKey }
}
