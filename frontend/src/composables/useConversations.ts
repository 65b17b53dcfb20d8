import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/vue-query'
import { computed, toValue, type MaybeRefOrGetter } from 'vue'
import { useI18n } from 'vue-i18n'
import * as conversations from '@/api/conversations'
import type { ConversationInput } from '@/api/conversations'
import { keys } from '@/api/keys'
import type { Conversation } from '@/api/types'
import { useToasts } from '@/stores/toasts'
import { useErrorText } from './useErrorText'

/** Conversations, newest first, page by page; all of them, or those of one project. */
export function useConversationList(projectId?: MaybeRefOrGetter<string | null>) {
  const project = computed(() => toValue(projectId) ?? undefined)
  const query = useInfiniteQuery({
    queryKey: computed(() => keys.conversationList(project.value)),
    queryFn: ({ pageParam }) => conversations.listConversations({ project_id: project.value, cursor: pageParam }),
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

/** Rename, move, delete with undo; each tells what it did, and puts the lists right. */
export function useConversationActions() {
  const client = useQueryClient()
  const toasts = useToasts()
  const words = useErrorText()
  const { t } = useI18n()
  const refresh = () => client.invalidateQueries({ queryKey: keys.conversations })
  const onError = (error: unknown) => void toasts.fail(words(error))

  const patch = useMutation({
    mutationFn: ({ id, input }: { id: string; input: ConversationInput }) => conversations.patchConversation(id, input),
    onSuccess: (conversation) => {
      client.setQueryData(keys.conversation(conversation.id), conversation)
      return refresh()
    },
    onError,
  })
  const restore = useMutation({ mutationFn: conversations.restoreConversation, onSuccess: refresh, onError })
  const remove = useMutation({
    mutationFn: (conversation: Conversation) => conversations.deleteConversation(conversation.id),
    onSuccess: (_answer, conversation) => {
      const title = conversation.title || t('sidebar.untitled')
      toasts.undoable(t('sidebar.deleted', { title }), t('common.undo'), () => restore.mutate(conversation.id))
      return refresh()
    },
    onError,
  })
  return {
    rename: (id: string, title: string) => patch.mutateAsync({ id, input: { title } }),
    move: (id: string, projectId: string | null) => patch.mutateAsync({ id, input: { project_id: projectId } }),
    change: (id: string, input: ConversationInput) => patch.mutateAsync({ id, input }),
    remove: (conversation: Conversation) => remove.mutateAsync(conversation),
  }
}
