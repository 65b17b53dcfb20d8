import { useI18n } from 'vue-i18n'
import type { Run } from '@/api/types'
import { commandOf } from '@/lib/runTitle'
import { useErrorWords } from './useErrorText'

type Ended = Pick<Run, 'status' | 'stop_reason' | 'error'>

/** How a run stands or ended, in words, and how that is marked. */
export function useRunWords() {
  const { t, te } = useI18n()
  const { sentence } = useErrorWords()
  const state = (run: Ended): string => t(`runs.state_${run.status}`)
  function reason(run: Ended): string {
    const key = run.stop_reason ?? ''
    if (key === 'completed') return t('runs.reason_completed')
    return te(`chat.stop_${key}`) ? t(`chat.stop_${key}`) : key
  }
  /** Why it ended so: what failed where that is known by its code, else the stop reason. */
  const why = (run: Ended): string => sentence(run.error?.code) || [reason(run), run.error?.message ?? run.error?.detail].filter(Boolean).join(' ')
  /** What the run is about; a command by the name of its tool. */
  function title(run: Pick<Run, 'title' | 'kind'>): string {
    const command = commandOf(run.title ?? '')
    if (!command || !te(`builtin.title_${command.tool}`)) return run.title || t(`runs.kind_${run.kind}`)
    const name = t(`builtin.title_${command.tool}`)
    return command.said ? t('runs.titleOf', { name, said: command.said }) : name
  }
  const TONES = { queued: undefined, running: 'info', waiting_approval: 'warn', completed: 'ok', cancelled: undefined, max_steps: 'warn', timeout: 'warn', failed: 'danger' } as const
  const tone = (run: Ended) => TONES[run.status]
  return { state, reason, why, title, tone }
}
