import { useI18n } from 'vue-i18n'
import type { Run } from '@/api/types'
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
  const TONES = { queued: undefined, running: 'info', waiting_approval: 'warn', completed: 'ok', cancelled: undefined, max_steps: 'warn', timeout: 'warn', failed: 'danger' } as const
  const tone = (run: Ended) => TONES[run.status]
  return { state, reason, why, tone }
}
