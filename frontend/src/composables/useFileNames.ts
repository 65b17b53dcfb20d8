import { useQuery } from '@tanstack/vue-query'
import { computed, type Ref } from 'vue'
import { listFiles } from '@/api/files'
import { keys } from '@/api/keys'
import type { FileEntry } from '@/api/types'

/** A mention is a help for the memory: in a bigger project the folder is typed, and its own list is asked. */
const MOST_FOLDERS = 40
const MOST_ENTRIES = 3_000

async function walk(projectId: string): Promise<FileEntry[]> {
  const found: FileEntry[] = []
  const folders = ['']
  for (let at = 0; at < folders.length && at < MOST_FOLDERS && found.length < MOST_ENTRIES; at += 1) {
    const { items } = await listFiles(projectId, folders[at])
    found.push(...items)
    folders.push(...items.filter((entry) => entry.type === 'dir' && !entry.name.startsWith('.')).map((entry) => entry.path))
  }
  return found
}

/** Files and folders of a project, those of the top first; asked once, kept until files change. */
export function useFileNames(projectId: Ref<string | null>) {
  const query = useQuery({
    queryKey: computed(() => [...keys.files(projectId.value ?? ''), 'names']),
    queryFn: () => walk(projectId.value!),
    enabled: () => projectId.value !== null,
  })
  return { entries: computed(() => (projectId.value ? (query.data.value ?? []) : [])), loading: query.isFetching }
}
