import { useQuery, useQueryClient } from '@tanstack/vue-query'
import { computed, ref, toValue, watch, type MaybeRefOrGetter } from 'vue'
import { listFiles } from '@/api/files'
import { keys } from '@/api/keys'
import type { FileEntry } from '@/api/types'
import { crumbsOf } from '@/lib/paths'

export interface TreeNode extends Pick<FileEntry, 'name' | 'path' | 'type'> {
  children?: TreeNode[]
}

const KEY = 'nanoclaw.tree.'
const MOST_OPEN = 60
const FRESH_MS = 30_000

function stored(projectId: string): string[] {
  try {
    return JSON.parse(localStorage.getItem(KEY + projectId) ?? '[]') as string[]
  } catch {
    return []
  }
}

/** Folders before files, then by name. */
export const inOrder = (entries: FileEntry[]): FileEntry[] => [...entries].sort((a, b) => Number(b.type === 'dir') - Number(a.type === 'dir') || a.name.localeCompare(b.name))

/** The tree of a project's files; a folder is asked for when it is unfolded. What is unfolded is kept. */
export function useFileTree(projectId: MaybeRefOrGetter<string>, shown: MaybeRefOrGetter<string>) {
  const client = useQueryClient()
  const open = ref<string[]>(stored(toValue(projectId)))
  watch(open, (paths) => localStorage.setItem(KEY + toValue(projectId), JSON.stringify(paths.slice(-MOST_OPEN))))
  // The way to what is shown is always unfolded.
  watch(
    () => toValue(shown),
    (path) => {
      const missing = crumbsOf(path).map((crumb) => crumb.path).filter((crumb) => !open.value.includes(crumb))
      if (missing.length) open.value = [...open.value, ...missing]
    },
    { immediate: true },
  )
  /** A folder and those unfolded in it; what an unfolded folder's parent does not hold any more is not asked for. */
  async function load(path: string, into: Map<string, FileEntry[]>): Promise<Map<string, FileEntry[]>> {
    const queryKey = [...keys.fileList(toValue(projectId), path), 'tree']
    const { items } = await client.fetchQuery({ queryKey, queryFn: () => listFiles(toValue(projectId), path), staleTime: FRESH_MS })
    into.set(path, items)
    await Promise.all(items.filter((entry) => entry.type === 'dir' && open.value.includes(entry.path)).map((entry) => load(entry.path, into)))
    return into
  }
  const folders = useQuery({
    queryKey: computed(() => [...keys.files(toValue(projectId)), 'tree', open.value]),
    queryFn: () => load('', new Map()),
    placeholderData: (before: Map<string, FileEntry[]> | undefined) => before,
  })
  function nodesOf(folder: string): TreeNode[] {
    return inOrder(folders.data.value?.get(folder) ?? []).map(({ name, path, type }) => ({ name, path, type, ...(type === 'dir' ? { children: nodesOf(path) } : {}) }))
  }
  const nodes = computed(() => nodesOf(''))
  return { nodes, open, loading: folders.isPending }
}
