import { computed, inject, provide, ref, type InjectionKey } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import type { FileEntry } from '@/api/types'
import { folderOf, isInside } from '@/lib/paths'
import { useFileActions } from './useFileActions'
import { useUploads } from './useUploads'

export type FileTab = 'preview' | 'edit' | 'history'
/** What the name dialog is asked for: a new thing in the folder, or another place for one that exists. */
export type NameTask = { kind: 'file' | 'folder' } | { kind: 'rename' | 'move'; entry: Pick<FileEntry, 'path' | 'type'> }

/** The files page: which folder and file are shown (in the URL), uploads, and what may be done. */
export function createFilesPage() {
  const route = useRoute()
  const router = useRouter()
  const text = (name: string) => (typeof route.query[name] === 'string' ? route.query[name] : '')
  const projectId = computed(() => String(route.params.id))
  const file = computed(() => text('file') || null)
  const folder = computed(() => (file.value ? folderOf(file.value) : text('path')))
  const tab = computed<FileTab>(() => (['edit', 'history'].includes(text('tab')) ? (text('tab') as FileTab) : 'preview'))
  const search = computed(() => text('q'))
  const deleted = computed(() => text('view') === 'deleted' && !file.value)
  const line = computed(() => Number(text('line')) || null)
  const uploads = useUploads(projectId, { ask: true })
  const actions = useFileActions(projectId)
  const naming = ref<NameTask | null>(null)

  const go = (query: Record<string, string>) => router.push({ name: 'files', params: { id: projectId.value }, query })
  const openFolder = (path: string) => go(path ? { path } : {})
  const openDeleted = () => go({ view: 'deleted' })
  const openFile = (path: string, more: { tab?: FileTab; line?: string } = {}) => go({ file: path, ...more })
  const open = (entry: Pick<FileEntry, 'path' | 'type'>) => (entry.type === 'dir' ? openFolder(entry.path) : openFile(entry.path))
  const setTab = (next: FileTab) => openFile(file.value!, next === 'preview' ? {} : { tab: next })
  const find = (words: string) => router.replace({ name: 'files', params: { id: projectId.value }, query: { ...(folder.value ? { path: folder.value } : {}), ...(words ? { q: words } : {}) } })

  async function remove(entry: Pick<FileEntry, 'path' | 'type'>): Promise<void> {
    const gone = await actions.remove(entry)
    if (gone && ((file.value && isInside(file.value, entry.path)) || isInside(folder.value, entry.path))) await openFolder(folderOf(entry.path))
  }
  /** Does what the dialog was asked for; true when it is done. */
  async function finishNaming(path: string): Promise<boolean> {
    const task = naming.value
    if (!task) return false
    if ('entry' in task) {
      if (!(await actions.move(task.entry.path, path))) return false
      if (file.value === task.entry.path) await openFile(path)
    } else if (task.kind === 'folder') {
      if (!(await actions.makeFolder(path))) return false
      await openFolder(path)
    } else {
      if (!(await actions.makeFile(path))) return false
      await openFile(path, { tab: 'edit' })
    }
    naming.value = null
    return true
  }
  return { projectId, folder, file, tab, search, line, deleted, openDeleted, uploads, actions, naming, openFolder, openFile, open, setTab, find, remove, finishNaming }
}

export type FilesPage = ReturnType<typeof createFilesPage>
const PAGE: InjectionKey<FilesPage> = Symbol('files page')
export const provideFilesPage = (page: FilesPage): void => provide(PAGE, page)
export function useFilesPage(): FilesPage {
  const page = inject(PAGE)
  if (!page) throw new Error('useFilesPage needs the files page above it')
  return page
}
