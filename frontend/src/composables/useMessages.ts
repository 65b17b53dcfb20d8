import { useInfiniteQuery, useQueryClient, type InfiniteData } from '@tanstack/vue-query'
import { computed, toValue, type MaybeRefOrGetter } from 'vue'
import { listMessages } from '@/api/conversations'
import { keys } from '@/api/keys'
import type { Message, MessagePage } from '@/api/types'

/** The messages of one branch (the active one, or that of `leaf`), a page at a time from the newest; `around` begins in the middle. */
export function useMessages(conversationId: MaybeRefOrGetter<string | null>, around: MaybeRefOrGetter<string | null> = null, leaf: MaybeRefOrGetter<string | null> = null) {
  const client = useQueryClient()
  const start = computed(() => (toValue(around) ? { around: toValue(around)! } : { leaf: toValue(leaf) ?? undefined }))
  const key = computed(() => keys.messages(toValue(conversationId) ?? '', toValue(around) ?? (toValue(leaf) ? `leaf:${toValue(leaf)}` : null)))
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => listMessages(toValue(conversationId)!, pageParam ? { cursor: pageParam } : start.value),
    initialPageParam: '',
    getNextPageParam: (page: MessagePage) => page.next_cursor ?? undefined,
    getPreviousPageParam: (page: MessagePage) => page.prev_cursor ?? undefined,
    enabled: () => Boolean(toValue(conversationId)),
    // Another branch, or the end of this one: what is shown stays until that has come.
    placeholderData: (shown, before) => (!toValue(around) && before?.queryKey[1] === toValue(conversationId) ? shown : undefined),
  })
  /** Oldest first. The first page is the newest one, so pages are turned around. */
  const items = computed(() => [...(query.data.value?.pages ?? [])].reverse().flatMap((page) => page.items))
  const queued = computed(() => query.data.value?.pages[0]?.queued ?? [])

  const refresh = () => client.invalidateQueries({ queryKey: ['messages', toValue(conversationId) ?? ''] })
  function change(edit: (newest: MessagePage) => MessagePage): void {
    // Nothing has come yet, and what is on its way may not know of the change.
    if (!client.getQueryData(key.value)) return void refresh()
    client.setQueryData<InfiniteData<MessagePage>>(key.value, (data) => data && { ...data, pages: data.pages.map((page, index) => (index ? page : edit(page))) })
  }
  /** Shows a message at once that the server has accepted or a run has completed. */
  function add(message: Message): void {
    change((page) => {
      const waits = page.queued.some((other) => other.id === message.id)
      if (message.state === 'queued') return { ...page, queued: waits ? page.queued.map((other) => (other.id === message.id ? message : other)) : [...page.queued, message] }
      const queuedRest = page.queued.filter((other) => other.id !== message.id)
      const known = page.items.some((other) => other.id === message.id)
      return { ...page, queued: queuedRest, items: known ? page.items : [...page.items, message] }
    })
  }
  const dropQueued = (id: string) => change((page) => ({ ...page, queued: page.queued.filter((other) => other.id !== id) }))
  return { ...query, items, queued, add, dropQueued, refresh }
}
