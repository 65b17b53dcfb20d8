import { computed, ref, watch } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import type { ConversationFilter, ConversationSort } from '@/api/conversations'
import { useConversationList } from './useConversations'

const PAUSE_MS = 250
export const SORTS: ConversationSort[] = ['updated', 'created', 'title']

/** A list of conversations as a page shows it: the filters live in the address, what is picked does not. */
export function useConversationTable(projectId: () => string | undefined) {
  const route = useRoute()
  const router = useRouter()
  const text = (name: string) => String(route.query[name] ?? '')
  const set = (name: string, value: string) => void router.replace({ query: { ...route.query, [name]: value || undefined } })
  const param = (name: string) => computed({ get: () => text(name), set: (value: string) => set(name, value) })

  const tag = param('tag')
  const archived = computed({ get: () => text('archived') === '1', set: (on: boolean) => set('archived', on ? '1' : '') })
  const sort = computed<ConversationSort>({
    get: () => SORTS.find((name) => name === text('sort')) ?? 'updated',
    set: (value) => set('sort', value === 'updated' ? '' : value),
  })
  const query = computed(() => text('q').trim())
  const words = ref(query.value)
  let written = query.value
  // Back, or a link: the box shows what the list is looked through for.
  watch(query, (asked) => asked !== written && (words.value = written = asked))
  watch(words, (value, _old, onCleanup) => {
    const timer = setTimeout(() => set('q', (written = value.trim())), PAUSE_MS)
    onCleanup(() => clearTimeout(timer))
  })

  const filter = computed<ConversationFilter>(() => ({
    project_id: projectId(), q: query.value || undefined, tag: tag.value || undefined, sort: sort.value, archived: archived.value ? 'true' : 'false',
  }))
  const list = useConversationList(filter)
  // Pinned ones first, within what the server sorted.
  const items = computed(() => [...list.items.value].sort((a, b) => Number(b.pinned ?? false) - Number(a.pinned ?? false)))

  const chosen = ref(new Set<string>())
  const picked = computed(() => items.value.filter((item) => chosen.value.has(item.id)))
  let last: string | null = null
  /** With Shift, everything from the last one picked to this one. */
  function pick(id: string, on: boolean, range = false): void {
    const next = new Set(chosen.value)
    const ids = items.value.map((item) => item.id)
    const [from, to] = [ids.indexOf(last ?? id), ids.indexOf(id)].sort((a, b) => a - b) as [number, number]
    for (const each of range && from >= 0 ? ids.slice(from, to + 1) : [id]) {
      if (on) next.add(each)
      else next.delete(each)
    }
    last = id
    chosen.value = next
  }
  const pickAll = (on: boolean) => (chosen.value = new Set(on ? items.value.map((item) => item.id) : []))
  watch(filter, () => pickAll(false))
  // What has left the list is picked no more, as nobody sees it.
  watch(picked, (still) => still.length < chosen.value.size && (chosen.value = new Set(still.map((item) => item.id))))
  return { list, items, words, query, tag, archived, sort, picked, pick, pickAll, isPicked: (id: string) => chosen.value.has(id) }
}
