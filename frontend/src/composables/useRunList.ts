import { useInfiniteQuery } from '@tanstack/vue-query'
import { computed, ref, watch, type Ref } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { keys } from '@/api/keys'
import { listRuns, type RunFilter } from '@/api/runs'
import { holdBack } from '@/lib/holdBack'

/** The runs of a project, newest first, filtered by the URL. While someone reads (`held`), new ones wait above. */
export function useRunList(projectId: Ref<string>, held: Ref<boolean>) {
  const route = useRoute()
  const router = useRouter()
  const text = (name: string) => (typeof route.query[name] === 'string' ? route.query[name] : '')
  const status = computed({ get: () => text('status') || 'all', set: (value) => set('status', value) })
  const kind = computed({ get: () => text('kind') || 'all', set: (value) => set('kind', value) })
  function set(name: string, value: string): void {
    const query = { ...route.query }
    if (value === 'all') delete query[name]
    else query[name] = value
    void router.replace({ query })
  }
  const filter = computed<RunFilter>(() => ({ project_id: projectId.value, status: text('status') || undefined, kind: text('kind') || undefined }))
  const query = useInfiniteQuery({
    queryKey: computed(() => keys.runList(filter.value)),
    queryFn: ({ pageParam }) => listRuns({ ...filter.value, cursor: pageParam, limit: 100 }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  })
  const all = computed(() => query.data.value?.pages.flatMap((page) => page.items) ?? [])
  /** The newest run that is shown; those above it wait until they are asked for. */
  const top = ref<string | null>(null)
  const split = computed(() => holdBack(all.value, held.value ? top.value : null))
  watch([split, held], () => (top.value = split.value.shown[0]?.id ?? null), { immediate: true })
  watch(filter, () => (top.value = null))
  /** The next page could not be had: it is asked for again only when somebody says so. */
  const moreFailed = computed(() => query.isFetchNextPageError.value)
  const loadMore = (): void => void (!query.isFetchingNextPage.value && !moreFailed.value && query.fetchNextPage())
  const retryMore = (): void => void query.fetchNextPage()
  const showNew = () => (top.value = all.value[0]?.id ?? null)
  return { query, runs: computed(() => split.value.shown), waiting: computed(() => split.value.waiting), showNew, moreFailed, loadMore, retryMore, status, kind }
}
