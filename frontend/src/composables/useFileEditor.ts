import { useQuery, useQueryClient } from '@tanstack/vue-query'
import { computed, ref, shallowRef, watch } from 'vue'
import * as files from '@/api/files'
import { keys } from '@/api/keys'
import { ApiError } from '@/api/problem'
import { useErrorText } from './useErrorText'
import { useFileText } from './useFiles'

/** A character that stands for bytes which are no UTF-8: saving would destroy them. */
const NOT_UTF8 = '\uFFFD'

/** A text file being edited: what was read, what is written now, and what to do when someone else changed it. */
export function useFileEditor(projectId: () => string, path: () => string) {
  const client = useQueryClient()
  const words = useErrorText()
  const query = useFileText(projectId, path)
  const base = shallowRef<files.FileText | null>(null)
  const text = ref('')
  const theirs = shallowRef<files.FileText | null>(null)
  const saving = ref(false)
  const error = ref('')
  const dirty = computed(() => base.value !== null && text.value !== base.value.text)
  const readOnly = computed(() => Boolean(base.value?.big || base.value?.text.includes(NOT_UTF8)))
  const notFound = (failure: unknown) => failure instanceof ApiError && failure.notFound
  /** It was deleted or moved while something unsaved is written in it. */
  const gone = computed(() => dirty.value && notFound(query.error.value))

  function settle(next: files.FileText): void {
    base.value = next
    text.value = next.text
    theirs.value = null
  }
  watch(
    query.data,
    (fresh) => {
      if (!fresh) return
      if (!dirty.value) settle(fresh)
      else if (fresh.etag !== base.value?.etag && fresh.text !== base.value?.text) theirs.value = fresh
    },
    { immediate: true },
  )
  const changes = useQuery({
    queryKey: computed(() => keys.fileChanges(projectId(), path())),
    queryFn: () => files.listChanges(projectId(), { path: path() }),
    enabled: () => theirs.value !== null,
  })
  /** The run that made the other version; null when a person did. */
  const theirRun = computed(() => changes.data.value?.items[0]?.run_id ?? null)

  /** Writes what stands there; of a file that is gone it makes a new one. */
  async function save(): Promise<void> {
    if (saving.value || !base.value || readOnly.value) return
    const { etag: read } = base.value
    await put((sent) => (gone.value ? files.createFile(projectId(), path(), sent) : files.writeText(projectId(), path(), sent, read)))
  }
  async function put(write: (sent: string) => Promise<string | null>): Promise<void> {
    if (!base.value) return
    saving.value = true
    error.value = ''
    const sent = text.value
    try {
      const etag = await write(sent)
      base.value = { ...base.value, text: sent, etag }
      theirs.value = null
      client.setQueryData(keys.fileContent(projectId(), path()), base.value)
      void client.invalidateQueries({ queryKey: keys.files(projectId()), predicate: ({ queryKey }) => queryKey[2] !== 'content' })
    } catch (failure) {
      if (failure instanceof ApiError && failure.status === 412) await look()
      else error.value = words(failure)
    } finally {
      saving.value = false
    }
  }
  /** What is there now; that nothing is, the query tells too. */
  async function look(): Promise<void> {
    try {
      theirs.value = await files.readText(projectId(), path())
    } catch (failure) {
      if (notFound(failure)) await query.refetch()
      else error.value = words(failure)
    }
  }
  /** My text over theirs; theirs stays in the history. */
  async function keepMine(): Promise<void> {
    if (base.value && theirs.value) base.value = { ...theirs.value }
    theirs.value = null
    await save()
  }
  const takeTheirs = () => theirs.value && settle(theirs.value)
  const discard = () => base.value && settle(base.value)
  return { query, text, base, theirs, theirRun, gone, dirty, readOnly, saving, error, save, keepMine, takeTheirs, discard }
}
