import { useMutation, useQuery, useQueryClient } from '@tanstack/vue-query'
import { computed, toValue, type MaybeRefOrGetter } from 'vue'
import { useI18n } from 'vue-i18n'
import { listConversations, restoreConversation } from '@/api/conversations'
import { listDeleted, revertChange } from '@/api/files'
import { keys } from '@/api/keys'
import { listProjects, restoreProject } from '@/api/projects'
import { useToasts } from '@/stores/toasts'
import { useErrorText } from './useErrorText'

export const KEPT_DAYS = 30
const DAY_MS = 86_400_000

/** How many days something deleted can still be put back. */
export const daysLeft = (deletedAt: string, now = Date.now()): number => Math.max(0, Math.ceil(KEPT_DAYS - (now - Date.parse(deletedAt)) / DAY_MS))

export const useDeletedConversations = () =>
  useQuery({ queryKey: keys.conversationList({ deleted: true }), queryFn: () => listConversations({ deleted: true, limit: 200 }), select: (page) => page.items })
export const useDeletedProjects = () =>
  useQuery({ queryKey: keys.projectList({ deleted: true }), queryFn: () => listProjects({ deleted: true }), select: (page) => page.items })
export const useDeletedFiles = (projectId: MaybeRefOrGetter<string | null>) =>
  useQuery({
    queryKey: computed(() => [...keys.deletedFiles(toValue(projectId) ?? ''), 'bin']),
    queryFn: () => listDeleted(toValue(projectId)!),
    select: (page) => page.items,
    enabled: () => Boolean(toValue(projectId)),
  })

/** Puts one thing back, and says so. */
export function useRestore() {
  const client = useQueryClient()
  const toasts = useToasts()
  const words = useErrorText()
  const { t } = useI18n()
  const restore = useMutation({
    mutationFn: ({ act }: { act: () => Promise<unknown>; name: string }) => act(),
    onSuccess: (_answer, { name }) => {
      toasts.show(t('bin.restored', { name }))
      return Promise.all([keys.conversations, keys.projects, ['files']].map((queryKey) => client.invalidateQueries({ queryKey })))
    },
    onError: (error) => toasts.fail(words(error)),
  })
  return {
    busy: restore.isPending,
    conversation: (id: string, name: string) => restore.mutate({ name, act: () => restoreConversation(id) }),
    project: (id: string, name: string) => restore.mutate({ name, act: () => restoreProject(id) }),
    file: (projectId: string, changeId: string, name: string) => restore.mutate({ name, act: () => revertChange(projectId, changeId) }),
  }
}
