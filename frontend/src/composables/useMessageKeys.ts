import { useChat } from './useChat'
import { useCopy } from './useCopy'
import { setJump } from './useJump'
import { useShortcut } from './useShortcuts'

/** Keys that act on messages: step through them, edit, copy, answer again. */
export function useMessageKeys(show: (messageId: string, focus?: boolean) => void, release: () => void): void {
  const chat = useChat()
  const copy = useCopy()
  setJump(show, release)

  const focused = () => {
    const id = document.activeElement?.closest<HTMLElement>('[data-message]')?.dataset.message
    return chat.shownMessages.value.find((message) => message.id === id)
  }
  function step(by: number): boolean {
    const all = chat.shownMessages.value
    const current = focused()
    const next = current ? all[all.indexOf(current) + by] : all.at(by < 0 ? -1 : 0)
    if (next) show(next.id, true)
    return Boolean(next)
  }
  useShortcut('previousMessage', () => step(-1))
  useShortcut('nextMessage', () => step(1))
  useShortcut('copyMessage', () => {
    const message = focused()
    if (!message) return false
    void copy(message.content)
    return true
  })
  useShortcut('editMessage', () => {
    const message = focused()
    if (message?.role !== 'user' || chat.running.value) return false
    chat.editing.value = message.id
    return true
  })
  useShortcut('retryMessage', () => {
    const message = focused()
    if (!message || chat.running.value) return false
    void chat.regenerate(message)
    return true
  })
}
