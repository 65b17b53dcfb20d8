import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/vue-query'
import { computed, toValue, type MaybeRefOrGetter } from 'vue'
import * as conversations from '@/api/conversations'
import type { ConversationFilter, ConversationInput } from '@/api/conversations'
import { keys } from '@/api/keys'
import { useToasts } from '@/stores/toasts'
import { useErrorText } from './useErrorText'

/** Conversations, newest first, page by page; all of them, or those that a filter leaves. */
export function useConversationList(filter: MaybeRefOrGetter<ConversationFilter> = {}) {
  const query = useInfiniteQuery({
    queryKey: computed(() => keys.conversationList(toValue(filter))),
    queryFn: ({ pageParam }) => conversations.listConversations({ ...toValue(filter), cursor: pageParam }),
    placeholderData: keepPreviousData,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const items = computed(() => query.data.value?.pages.flatMap((page) => page.items) ?? [])
  return { ...query, items }
}

export function useConversation(id: MaybeRefOrGetter<string | null>) {
  return useQuery({
    queryKey: computed(() => keys.conversation(toValue(id) ?? '')),
    queryFn: () => conversations.getConversation(toValue(id)!),
    enabled: () => Boolean(toValue(id)),
  })
}

/** Changes to one conversation from where it is shown; what lists and menus do with it is in useOrganiseActions. */
export function useConversationActions() {
  const client = useQueryClient()
  const toasts = useToasts()
  const words = useErrorText()

  const patch = useMutation({
    mutationFn: ({ id, input }: { id: string; input: ConversationInput }) => conversations.patchConversation(id, input),
    onSuccess: (conversation) => {
      client.setQueryData(keys.conversation(conversation.id), conversation)
      return client.invalidateQueries({ queryKey: keys.conversations })
    },
    onError: (error) => void toasts.fail(words(error)),
  })
  return {
    rename: (id: string, title: string) => patch.mutateAsync({ id, input: { title } }),
    change: (id: string, input: ConversationInput) => patch.mutateAsync({ id, input }),
  }
}
