import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/vue-query'
import { computed, toValue, type MaybeRefOrGetter } from 'vue'
import { useI18n } from 'vue-i18n'
import { deleteConversationForGood, listConversations, restoreConversation } from '@/api/conversations'
import { listDeleted, revertChange } from '@/api/files'
import { keys } from '@/api/keys'
import { deleteProjectForGood, listProjects, restoreProject } from '@/api/projects'
import { inTurns } from '@/lib/inTurns'
import { useToasts } from '@/stores/toasts'
import { useErrorText } from './useErrorText'

export const KEPT_DAYS = 30
const DAY_MS = 86_400_000
const FOCUS_MS = 200

/** How many days something deleted can still be put back. */
export const daysLeft = (deletedAt: string, now = Date.now()): number => Math.max(0, Math.ceil(KEPT_DAYS - (now - Date.parse(deletedAt)) / DAY_MS))

interface Part<Item> {
  items: Item[]
  next_cursor: string | null
}
/** Something deleted, page by page. */
function useDeleted<Item>(key: MaybeRefOrGetter<readonly unknown[]>, ask: (cursor?: string) => Promise<Part<Item>>, enabled = () => true) {
  const query = useInfiniteQuery({
    queryKey: computed(() => toValue(key)),
    queryFn: ({ pageParam }) => ask(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    enabled,
  })
  const items = computed(() => query.data.value?.pages.flatMap((part) => part.items) ?? [])
  return { ...query, items }
}
export type Deleted<Item> = ReturnType<typeof useDeleted<Item>>
export const useDeletedConversations = () => useDeleted(keys.conversationList({ deleted: true }), (cursor) => listConversations({ deleted: true, cursor }))
export const useDeletedProjects = () => useDeleted(keys.projectList({ deleted: true }), (cursor) => listProjects({ deleted: true, limit: 100, cursor }))
export const useDeletedFiles = (projectId: MaybeRefOrGetter<string | null>) =>
  useDeleted(() => [...keys.deletedFiles(toValue(projectId) ?? ''), 'bin'], (cursor) => listDeleted(toValue(projectId)!, cursor), () => Boolean(toValue(projectId)))

/** All are tried; the first failure is told. */
async function revertAll(projectId: string, changeIds: string[]): Promise<void> {
  const { failures } = await inTurns(changeIds, (id) => revertChange(projectId, id))
  if (failures.length) throw failures[0]
}

/** Puts one thing back, or takes it out of the bin for good, and says so. */
export function useBinActions() {
  const client = useQueryClient()
  const toasts = useToasts()
  const words = useErrorText()
  const { t } = useI18n()
  const work = useMutation({
    mutationFn: ({ act }: { act: () => Promise<unknown>; said: string }) => act(),
    onSuccess: async (_answer, { said }) => {
      toasts.show(said)
      await Promise.all([keys.conversations, keys.projects, ['files']].map((queryKey) => client.invalidateQueries({ queryKey })))
      // The row that had the focus is gone; a dialog gives it back only after it has closed.
      setTimeout(() => document.activeElement === document.body && document.getElementById('main')?.focus(), FOCUS_MS)
    },
    onError: (error) => {
      toasts.fail(words(error))
      void client.invalidateQueries({ queryKey: ['files'] })
    },
  })
  const restore = (name: string, act: () => Promise<unknown>) => work.mutate({ said: t('bin.restored', { name }), act })
  const forget = (name: string, act: () => Promise<unknown>) => work.mutateAsync({ said: t('bin.forgotten', { name }), act })
  return {
    busy: work.isPending,
    conversation: (id: string, name: string) => restore(name, () => restoreConversation(id)),
    project: (id: string, name: string) => restore(name, () => restoreProject(id)),
    files: (projectId: string, changeIds: string[], name: string) => restore(name, () => revertAll(projectId, changeIds)),
    forgetConversation: (id: string, name: string) => forget(name, () => deleteConversationForGood(id)),
    forgetProject: (id: string, name: string) => forget(name, () => deleteProjectForGood(id)),
  }
}
