import { useQueryClient } from '@tanstack/vue-query'
import { shallowRef } from 'vue'
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
  /** What the last act could not do, with the way to try that again. */
  const left = shallowRef<{ text: string; retry: () => Promise<void> } | null>(null)

  async function cancel(ids: string[]): Promise<void> {
    const answers = await Promise.allSettled(ids.map(cancelRun))
    const failed = ids.filter((_, index) => answers[index]!.status === 'rejected')
    left.value = failed.length ? { text: t('runs.notStopped', { n: failed.length }, failed.length), retry: () => cancel(failed) } : null
    if (failed.length < ids.length) toasts.show(t('runs.stopped', { n: ids.length - failed.length }))
    await client.invalidateQueries({ queryKey: keys.runs })
  }
  async function save(ids: string[]): Promise<void> {
    const answers = await inTurn(ids, async (id) => ({ ...(await getRun(id)), steps: await allSteps(id) }))
    const runs = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    const missing = ids.length - runs.length
    left.value = missing && runs.length ? { text: t('runs.notExported', { n: missing }, missing), retry: () => save(ids) } : null
    if (runs.length) saveText(ids.length === 1 ? `run-${ids[0]}.json` : 'runs.json', JSON.stringify(ids.length === 1 ? runs[0] : runs, null, 2))
    else toasts.fail(words((answers[0] as PromiseRejectedResult).reason))
  }
  return { cancel, save, left }
}

/** One after the other: a hundred runs are not asked for at once. */
async function inTurn<Item, Answer>(items: Item[], act: (item: Item) => Promise<Answer>): Promise<PromiseSettledResult<Answer>[]> {
  const answers: PromiseSettledResult<Answer>[] = []
  for (const item of items) answers.push(...(await Promise.allSettled([act(item)])))
  return answers
}
