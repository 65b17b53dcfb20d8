import { useQueryClient } from '@tanstack/vue-query'
import { toValue, type MaybeRefOrGetter } from 'vue'
import { useI18n } from 'vue-i18n'
import * as api from '@/api/files'
import { keys } from '@/api/keys'
import type { FileChange, FileEntry, Page } from '@/api/types'
import { isInside, nameOf } from '@/lib/paths'
import { useToasts } from '@/stores/toasts'
import { useErrorText } from './useErrorText'

const CHANGES_ASKED = 200

/** The changes that one deletion made, newest first: the folder itself and all that was in it. */
export function deletionOf(changes: FileChange[], path: string): FileChange[] {
  const first = changes.findIndex((change) => change.action === 'delete' && change.path === path)
  if (first < 0) return []
  const rest = changes.slice(first)
  const end = rest.findIndex((change) => change.action !== 'delete' || !isInside(change.path, path))
  return end < 0 ? rest : rest.slice(0, end)
}

/** The same from the pages of a history, as far back as the deletion reaches. */
export async function wholeDeletion(pageAt: (cursor?: string) => Promise<Page<FileChange>>, path: string): Promise<FileChange[]> {
  const changes: FileChange[] = []
  let cursor: string | undefined
  do {
    const page = await pageAt(cursor)
    changes.push(...page.items)
    cursor = page.next_cursor ?? undefined
    const found = deletionOf(changes, path)
    if (found.length && found.at(-1) !== changes.at(-1)) return found
  } while (cursor)
  return deletionOf(changes, path)
}

/** Make, move and delete files; each says what it did, and deleting and moving can be taken back. */
export function useFileActions(projectId: MaybeRefOrGetter<string>) {
  const client = useQueryClient()
  const toasts = useToasts()
  const words = useErrorText()
  const { t } = useI18n()
  const id = () => toValue(projectId)
  const refresh = () => client.invalidateQueries({ queryKey: keys.files(id()) })

  /** Does it, and asks anew for what may have changed, but not for the file `gone` that it took away. */
  async function attempt<Answer>(act: () => Promise<Answer>, gone?: string): Promise<Answer | null> {
    try {
      const answer = await act()
      if (gone) client.removeQueries({ queryKey: keys.fileContent(id(), gone) })
      await refresh()
      return answer
    } catch (error) {
      toasts.fail(words(error))
      return null
    }
  }
  async function undelete(path: string): Promise<void> {
    let lost = 0
    await attempt(async () => {
      for (const change of await wholeDeletion((cursor) => api.listChanges(id(), { limit: CHANGES_ASKED, cursor }), path)) await api.revertChange(id(), change.id).catch(() => (lost += 1))
    })
    if (lost) toasts.fail(t('filesPage.notAllBack', { n: lost }, lost))
  }
  async function remove(entry: Pick<FileEntry, 'path'>): Promise<boolean> {
    const done = await attempt(async () => {
      await api.deleteFile(id(), entry.path)
      return true
    }, entry.path)
    if (done) toasts.undoable(t('filesPage.deleted', { name: nameOf(entry.path) }), t('common.undo'), () => void undelete(entry.path))
    return Boolean(done)
  }
  async function move(from: string, to: string): Promise<boolean> {
    const moved = await attempt(() => api.moveFile(id(), from, to), from)
    if (moved) toasts.undoable(t('filesPage.moved', { path: to }), t('common.undo'), () => void attempt(() => api.moveFile(id(), to, from), to))
    return Boolean(moved)
  }
  const makeFolder = (path: string) => attempt(() => api.makeFolder(id(), path))
  /** An empty file; refused if the name is taken. */
  const makeFile = (path: string) => attempt(() => api.createEmpty(id(), path))
  return { remove, move, makeFolder, makeFile, refresh }
}
