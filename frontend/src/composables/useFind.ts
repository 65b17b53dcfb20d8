import { computed, ref, watch } from 'vue'
import { useChat } from './useChat'
import { jumpToMessage } from './useJump'
import { useShortcut } from './useShortcuts'


/** Find among the messages loaded so far; asked twice, the key is left to the browser's own find. */
export function useFind() {
  const { shownMessages } = useChat()
  const open = ref(false)
  const text = ref('')
  const place = ref(0)
  const hits = computed(() => {
    const wanted = text.value.trim().toLowerCase()
    return wanted ? shownMessages.value.filter((message) => message.content.toLowerCase().includes(wanted)).map((message) => message.id) : []
  })
  function show(): void {
    document.querySelectorAll('.message.found').forEach((element) => element.classList.remove('found'))
    const id = hits.value[place.value]
    if (!id) return
    jumpToMessage(id)
    requestAnimationFrame(() => requestAnimationFrame(() => document.getElementById(`message-${id}`)?.classList.add('found')))
  }
  function move(step: number): void {
    if (!hits.value.length) return
    place.value = (place.value + step + hits.value.length) % hits.value.length
    show()
  }
  function close(): void {
    open.value = false
    document.querySelectorAll('.message.found').forEach((element) => element.classList.remove('found'))
  }
  watch(hits, () => {
    place.value = Math.max(0, hits.value.length - 1)
    show()
  })
  useShortcut('find', () => {
    if (open.value) return false
    open.value = true
    return true
  })
  return { open, text, place, hits, move, close }
}
