import { useQueryClient } from '@tanstack/vue-query'
import { useI18n } from 'vue-i18n'
import { keys } from '@/api/keys'
import { allSteps, cancelRun, getRun } from '@/api/runs'
import { saveText } from '@/lib/save'
import { useToasts } from '@/stores/toasts'
import { useErrorText } from './useErrorText'

/** What can be done with runs, one or many: stop them, save them as JSON. */
export function useRunControls() {
  const client = useQueryClient()
  const toasts = useToasts()
  const words = useErrorText()
  const { t } = useI18n()

  async function cancel(ids: string[]): Promise<void> {
    const answers = await Promise.allSettled(ids.map(cancelRun))
    const failed = answers.find((answer) => answer.status === 'rejected')
    if (failed) toasts.fail(words(failed.reason))
    else toasts.show(t('runs.stopped', { n: ids.length }))
    await client.invalidateQueries({ queryKey: keys.runs })
  }
  async function save(ids: string[]): Promise<void> {
    try {
      const runs = []
      for (const id of ids) runs.push({ ...(await getRun(id)), steps: await allSteps(id) })
      saveText(ids.length === 1 ? `run-${ids[0]}.json` : 'runs.json', JSON.stringify(ids.length === 1 ? runs[0] : runs, null, 2))
    } catch (error) {
      toasts.fail(words(error))
    }
  }
  return { cancel, save }
}
