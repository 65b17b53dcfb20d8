import { useQueryClient } from '@tanstack/vue-query'
import { computed, ref, toValue, type MaybeRefOrGetter } from 'vue'
import { keys } from '@/api/keys'
import { ApiError } from '@/api/problem'
import { uploadFile, type UploadOptions } from '@/api/upload'
import { droppedFiles, placed, type PlacedFile } from '@/lib/droppedFiles'
import { joinPath } from '@/lib/paths'
import { useErrorText } from './useErrorText'

type OnConflict = NonNullable<UploadOptions['onConflict']>
/** What a person says when the name is taken. */
export type ClashAnswer = 'keep_both' | 'replace' | 'skip'

export interface Upload {
  id: number
  /** Where it goes, whatever page is shown when its turn comes. */
  projectId: string
  name: string
  size: number
  fraction: number
  state: 'waiting' | 'running' | 'done' | 'failed' | 'cancelled' | 'clash'
  error: string
  /** Where the file came to lie, once it is there. */
  path: string
  file: File
  folder: string
  onConflict: OnConflict
  controller: AbortController
}

interface Where {
  folder?: string
}

const AT_ONCE = 3
const CLASH = 'file_conflict'
const goesOn = (item: Upload): boolean => item.state === 'running' || item.state === 'waiting'
let lastId = 0

/**
 * Uploads into a project, three at a time, each with progress, cancel and retry. With `ask` a name that is taken
 * waits for `answer`; otherwise both files are kept.
 */
export function useUploads(projectId: MaybeRefOrGetter<string | null>, { ask = false } = {}) {
  const client = useQueryClient()
  const words = useErrorText()
  const items = ref<Upload[]>([])
  const busy = computed(() => items.value.some(goesOn))
  const clashes = computed(() => items.value.filter((item) => item.state === 'clash'))

  function fail(item: Upload, error: unknown): void {
    if (error instanceof DOMException) Object.assign(item, { state: 'cancelled', error: '' })
    else if (ask && error instanceof ApiError && error.code === CLASH) Object.assign(item, { state: 'clash', fraction: 0 })
    else Object.assign(item, { state: 'failed', error: words(error) })
  }
  async function run(item: Upload): Promise<void> {
    item.state = 'running'
    try {
      const entry = await uploadFile({
        projectId: item.projectId, file: item.file, folder: item.folder, signal: item.controller.signal, onConflict: item.onConflict,
        onProgress: (fraction) => (item.fraction = fraction),
      })
      Object.assign(item, { state: 'done', fraction: 1, path: entry.path })
    } catch (error) {
      fail(item, error)
    }
    next()
    if (!items.value.some((other) => other.projectId === item.projectId && goesOn(other))) void client.invalidateQueries({ queryKey: keys.files(item.projectId) })
  }
  function next(): void {
    const running = items.value.filter((item) => item.state === 'running').length
    items.value.filter((item) => item.state === 'waiting').slice(0, AT_ONCE - running).forEach((item) => void run(item))
  }
  function enqueue(files: PlacedFile[], where: Where, project = toValue(projectId)): void {
    if (!project) return
    for (const { file, folder } of files) {
      lastId += 1
      items.value.push({
        id: lastId, projectId: project, name: joinPath(folder, file.name), size: file.size, fraction: 0, state: 'waiting', error: '', path: '', file,
        folder: joinPath(where.folder ?? '', folder), onConflict: ask ? 'fail' : 'keep_both', controller: new AbortController(),
      })
    }
    next()
  }
  const add = (files: File[], where: Where = {}, project = toValue(projectId)): void => enqueue(placed(files), where, project)
  /** Files and folders of a drop or a paste; true if there were any. */
  function take(data: DataTransfer | null, where: Where = {}): boolean {
    if (!data?.files.length && ![...(data?.items ?? [])].some((item) => item.kind === 'file')) return false
    const project = toValue(projectId)
    void droppedFiles(data!).then((files) => enqueue(files, where, project))
    return true
  }
  function choose(where: Where = {}, wholeFolder = false): void {
    const project = toValue(projectId)
    const input = document.createElement('input')
    input.type = 'file'
    input.multiple = true
    input.webkitdirectory = wholeFolder
    input.onchange = () => add([...(input.files ?? [])], where, project)
    input.click()
  }
  function again(item: Upload, onConflict: OnConflict): void {
    Object.assign(item, { state: 'waiting', fraction: 0, error: '', onConflict, controller: new AbortController() })
  }
  function retry(item: Upload): void {
    again(item, item.onConflict)
    next()
  }
  function remove(item: Upload): void {
    item.controller.abort()
    items.value = items.value.filter((other) => other.id !== item.id)
  }
  /** What to do about a taken name, for one file or for all that wait. */
  function answer(decision: ClashAnswer, of: Upload[]): void {
    for (const item of of) {
      if (decision === 'skip') remove(item)
      else again(item, decision)
    }
    next()
  }
  const clear = () => (items.value = [])
  const clearDone = () => (items.value = items.value.filter((item) => item.state !== 'done' && item.state !== 'cancelled'))
  return { items, busy, clashes, add, take, choose, retry, remove, answer, clear, clearDone }
}
