import { useQueryClient } from '@tanstack/vue-query'
import { computed, ref, toValue, type MaybeRefOrGetter } from 'vue'
import { keys } from '@/api/keys'
import { uploadFile } from '@/api/upload'
import { useErrorText } from './useErrorText'

export interface Upload {
  id: number
  name: string
  size: number
  fraction: number
  state: 'waiting' | 'running' | 'done' | 'failed' | 'cancelled'
  error: string
  /** Where the file came to lie, once it is there. */
  path: string
  file: File
  folder: string
  controller: AbortController
}

interface Where {
  folder?: string
}

const AT_ONCE = 3
let lastId = 0

/** Uploads into a project, three at a time, each with progress, cancel and retry. */
export function useUploads(projectId: MaybeRefOrGetter<string | null>) {
  const client = useQueryClient()
  const words = useErrorText()
  const items = ref<Upload[]>([])
  const busy = computed(() => items.value.some((item) => item.state === 'running' || item.state === 'waiting'))

  async function run(item: Upload): Promise<void> {
    item.state = 'running'
    try {
      const entry = await uploadFile({
        projectId: toValue(projectId)!, file: item.file, folder: item.folder, signal: item.controller.signal,
        onProgress: (fraction) => (item.fraction = fraction),
      })
      Object.assign(item, { state: 'done', fraction: 1, path: entry.path })
    } catch (error) {
      const cancelled = error instanceof DOMException
      Object.assign(item, { state: cancelled ? 'cancelled' : 'failed', error: cancelled ? '' : words(error) })
    }
    next()
    if (!busy.value) void client.invalidateQueries({ queryKey: keys.files(toValue(projectId)!) })
  }
  function next(): void {
    const running = items.value.filter((item) => item.state === 'running').length
    items.value.filter((item) => item.state === 'waiting').slice(0, AT_ONCE - running).forEach((item) => void run(item))
  }
  function add(files: File[], where: Where = {}): void {
    if (!toValue(projectId)) return
    for (const file of files) {
      lastId += 1
      items.value.push({ id: lastId, name: file.name, size: file.size, fraction: 0, state: 'waiting', error: '', path: '', file, folder: where.folder ?? '', controller: new AbortController() })
    }
    next()
  }
  /** Files of a drop or a paste; true if there were any. */
  function take(data: DataTransfer | null, where: Where = {}): boolean {
    const files = [...(data?.files ?? [])]
    add(files, where)
    return files.length > 0
  }
  function choose(where: Where = {}): void {
    const input = document.createElement('input')
    input.type = 'file'
    input.multiple = true
    input.onchange = () => add([...(input.files ?? [])], where)
    input.click()
  }
  function retry(item: Upload): void {
    Object.assign(item, { state: 'waiting', fraction: 0, error: '', controller: new AbortController() })
    next()
  }
  function remove(item: Upload): void {
    item.controller.abort()
    items.value = items.value.filter((other) => other.id !== item.id)
  }
  const clear = () => (items.value = [])
  return { items, busy, add, take, choose, retry, remove, clear }
}
