import { useQueryClient } from '@tanstack/vue-query'
import { ref, shallowRef } from 'vue'
import { useI18n } from 'vue-i18n'
import { revertChange } from '@/api/files'
import { keys } from '@/api/keys'
import type { FileChange } from '@/api/types'
import { nameOf } from '@/lib/paths'
import { useToasts } from '@/stores/toasts'

/** Putting deleted files back, one after the other; those that cannot come back are kept for another try. */
export function useRestoreFiles(projectId: () => string) {
  const client = useQueryClient()
  const toasts = useToasts()
  const { t } = useI18n()
  const busy = ref(false)
  const failed = shallowRef<FileChange[]>([])

  async function restore(changes: FileChange[]): Promise<void> {
    busy.value = true
    failed.value = []
    const lost: FileChange[] = []
    for (const change of changes) await revertChange(projectId(), change.id).catch(() => lost.push(change))
    failed.value = lost
    busy.value = false
    const back = changes.filter((change) => !lost.includes(change))
    if (back.length) toasts.show(back.length === 1 ? t('filesPage.isBack', { name: nameOf(back[0]!.path) }) : t('filesPage.areBack', { n: back.length }))
    await client.invalidateQueries({ queryKey: keys.files(projectId()) })
  }
  return { restore, busy, failed }
}
