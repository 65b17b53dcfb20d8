import { useQuery } from '@tanstack/vue-query'
import { computed, nextTick, onScopeDispose, ref, watch } from 'vue'
import { useRouter } from 'vue-router'
import { keys } from '@/api/keys'
import { findInConversation } from '@/api/search'
import { findRanges, paintRanges } from '@/lib/markText'
import { useChat } from './useChat'
import { jumpToMessage } from './useJump'
import { useShortcut } from './useShortcuts'

const PAUSE_MS = 200
/** A message that was just jumped to is measured, then drawn: until then it is looked for. */
const PATIENCE_MS = 3_000

/** Find in the whole conversation, also in what is not loaded; asked twice, the key is left to the browser's own find. */
export function useFind() {
  const chat = useChat()
  const router = useRouter()
  const open = ref(false)
  const text = ref('')
  const settled = ref('')
  const place = ref(0)
  const marks = ref(0)
  watch(text, (value, _before, onCleanup) => {
    const timer = setTimeout(() => (settled.value = value.trim()), PAUSE_MS)
    onCleanup(() => clearTimeout(timer))
  })
  const query = useQuery({
    queryKey: computed(() => [...keys.messages(chat.id.value ?? ''), 'find', settled.value]),
    queryFn: ({ signal }) => findInConversation(chat.id.value!, settled.value, signal),
    enabled: () => open.value && chat.id.value !== null && settled.value !== '',
  })
  /** Oldest first, as they stand on the page. */
  const hits = computed(() => (settled.value ? (query.data.value?.items ?? []).map((hit) => hit.id).reverse() : []))
  const more = computed(() => Boolean(query.data.value?.next_cursor))
  const busy = computed(() => query.isFetching.value && !query.data.value)

  /** Marks the words once the message is drawn; a folded one is unfolded. */
  async function mark(id: string): Promise<void> {
    const turn = (marks.value += 1)
    const until = performance.now() + PATIENCE_MS
    const look = async (): Promise<void> => {
      if (turn !== marks.value) return
      const element = document.getElementById(`message-${id}`)
      let ranges = element ? findRanges(element, settled.value) : []
      const fold = element?.querySelector<HTMLElement>('[data-unfold][aria-expanded="false"]')
      if (element && !ranges.length && fold) {
        fold.click()
        await nextTick()
        ranges = findRanges(element, settled.value)
      }
      if (ranges.length) {
        paintRanges(ranges)
        element!.classList.add('found')
        ranges[0]!.startContainer.parentElement?.scrollIntoView({ block: 'center' })
      } else if (performance.now() < until) requestAnimationFrame(() => void look())
      else element?.classList.add('found')
    }
    await look()
  }
  function unmark(): void {
    marks.value += 1
    paintRanges([])
    document.querySelectorAll('.message.found').forEach((element) => element.classList.remove('found'))
  }
  function show(): void {
    unmark()
    const id = hits.value[place.value]
    if (!id) return
    if (chat.shownMessages.value.some((message) => message.id === id)) jumpToMessage(id)
    else void router.replace({ query: { ...router.currentRoute.value.query, m: id } })
    void mark(id)
  }
  function move(step: number): void {
    if (!hits.value.length) return
    place.value = (place.value + step + hits.value.length) % hits.value.length
    show()
  }
  function close(): void {
    open.value = false
    unmark()
  }
  watch(hits, (now, before) => {
    if (now.join() === before?.join()) return
    place.value = Math.max(0, now.length - 1)
    show()
  })
  useShortcut('find', () => {
    if (open.value) return false
    open.value = true
    return true
  })
  onScopeDispose(unmark)
  return { open, text, settled, place, hits, more, busy, move, close }
}
