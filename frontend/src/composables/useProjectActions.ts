import { useQueryClient } from '@tanstack/vue-query'
import { useI18n } from 'vue-i18n'
import { useRoute, useRouter } from 'vue-router'
import { keys } from '@/api/keys'
import * as api from '@/api/projects'
import type { ProjectInput } from '@/api/projects'
import type { Project } from '@/api/types'
import { inTurns } from '@/lib/inTurns'
import { useToasts } from '@/stores/toasts'
import { useErrorText } from './useErrorText'

/** What can be done with one project or many from lists. */
export function useProjectActions() {
  const client = useQueryClient()
  const route = useRoute()
  const router = useRouter()
  const toasts = useToasts()
  const words = useErrorText()
  const { t } = useI18n()

  const what = (items: Project[]): string => (items.length === 1 ? t('organise.quoted', { title: items[0]!.name }) : t('organise.projects', { n: items.length }, items.length))
  async function each(items: Project[], act: (item: Project) => Promise<unknown>): Promise<Project[]> {
    const { done, failures } = await inTurns(items, act)
    if (failures.length) toasts.fail(items.length === 1 ? words(failures[0]) : t('organise.someFailed', { n: failures.length, total: items.length, reason: words(failures[0]) }))
    // The conversations of a project come and go with it.
    await Promise.all([keys.projects, keys.conversations].map((queryKey) => client.invalidateQueries({ queryKey })))
    return done
  }
  const change = (items: Project[], input: ProjectInput) =>
    each(items, async (item) => client.setQueryData(keys.project(item.id), await api.patchProject(item.id, input)))

  const rename = (item: Project, name: string) => change([item], { name })
  async function pin(items: Project[], on: boolean): Promise<void> {
    const done = await change(items, { pinned: on })
    if (done.length) toasts.show(on ? t('organise.pinned', { what: what(done) }) : t('organise.unpinned', { what: what(done) }))
  }
  async function archive(items: Project[], on: boolean): Promise<void> {
    const done = await change(items, { archived: on })
    if (!done.length) return
    toasts.undoable(on ? t('organise.archived', { what: what(done) }) : t('organise.unarchived', { what: what(done) }), t('common.undo'), () => void change(done, { archived: !on }))
  }
  async function remove(items: Project[]): Promise<void> {
    // Its pages are left first, or they would ask for what is no longer there.
    if (route.path.startsWith('/p/') && items.some((item) => item.id === route.params.id)) await router.push({ name: 'projects' })
    const done = await each(items, (item) => api.deleteProject(item.id))
    if (done.length) toasts.undoable(t('organise.deleted', { what: what(done) }), t('common.undo'), () => void restore(done))
  }
  const restore = (items: Project[]) => each(items, (item) => api.restoreProject(item.id))
  return { rename, pin, archive, remove, restore }
}
