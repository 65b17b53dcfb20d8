import { useMutation, useQueryClient } from '@tanstack/vue-query'
import { useI18n } from 'vue-i18n'
import { importConversations } from '@/api/conversations'
import { keys } from '@/api/keys'
import { ApiError } from '@/api/problem'
import { markSeen } from './useSeen'

/** Brings the conversations of a file in; what came of it is the mutation's data. */
export function useImport() {
  const client = useQueryClient()
  const { t } = useI18n()
  return useMutation({
    mutationFn: async ({ file, projectId }: { file: File; projectId: string | null }) => {
      // Said here, as an empty file is not worth the way, and the browser cannot read what is gone.
      if (!file.size) throw new ApiError(422, 'validation_failed', t('organise.emptyFile'), { retryable: false })
      return importConversations(file, projectId)
    },
    onSuccess: (report) => {
      report.items.forEach(markSeen)
      return client.invalidateQueries({ queryKey: keys.conversations })
    },
  })
}
