import { useMutation, useQueryClient } from '@tanstack/vue-query'
import { useI18n } from 'vue-i18n'
import { useRouter } from 'vue-router'
import { keys } from '@/api/keys'
import { deleteProject, patchProject, restoreProject, type ProjectInput } from '@/api/projects'
import type { Project } from '@/api/types'
import { useToasts } from '@/stores/toasts'
import { useErrorText } from './useErrorText'

/** Changing and deleting a project. */
export function useProjectEdit(project: () => Project) {
  const client = useQueryClient()
  const router = useRouter()
  const toasts = useToasts()
  const words = useErrorText()
  const { t } = useI18n()
  const refresh = () => client.invalidateQueries({ queryKey: keys.projects })
  const save = useMutation({
    mutationFn: (input: ProjectInput) => patchProject(project().id, input),
    onSuccess: (saved) => {
      client.setQueryData(keys.project(saved.id), saved)
      return refresh()
    },
  })
  const remove = useMutation({
    mutationFn: () => deleteProject(project().id),
    onSuccess: async () => {
      const { id, name } = project()
      await router.push({ name: 'projects' })
      toasts.undoable(t('projects.deleted', { name }), t('common.undo'), () => void restoreProject(id).then(refresh, (error: unknown) => toasts.fail(words(error))))
      await refresh()
    },
    onError: (error) => toasts.fail(words(error)),
  })
  return { save, remove }
}
