import { useInfiniteQuery, useQuery } from '@tanstack/vue-query'
import { computed, toValue, type MaybeRefOrGetter } from 'vue'
import * as files from '@/api/files'
import { keys } from '@/api/keys'
import { kindOf } from '@/lib/fileKind'

/** One folder of a project, folders first. */
export function useFolder(projectId: MaybeRefOrGetter<string | null>, path: MaybeRefOrGetter<string>) {
  const query = useInfiniteQuery({
    queryKey: computed(() => keys.fileList(toValue(projectId) ?? '', toValue(path))),
    // By the key, not by the refs: this may run later, for another reader of the same folder, when they say otherwise.
    queryFn: ({ pageParam, queryKey: [, project, , folder] }) => files.listFiles(project, folder, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    enabled: () => Boolean(toValue(projectId)),
  })
  const items = computed(() => {
    const all = query.data.value?.pages.flatMap((page) => page.items) ?? []
    return [...all].sort((a, b) => Number(b.type === 'dir') - Number(a.type === 'dir') || a.name.localeCompare(b.name))
  })
  return { ...query, items }
}

/** The text of a file, where its kind can be shown as text. */
export function useFileText(projectId: MaybeRefOrGetter<string>, path: MaybeRefOrGetter<string>) {
  return useQuery({
    queryKey: computed(() => keys.fileContent(toValue(projectId), toValue(path))),
    queryFn: ({ signal, queryKey: [, project, , file] }) => files.readText(project, file, signal),
    enabled: () => !['image', 'binary'].includes(kindOf(toValue(path))),
  })
}
