import { useI18n } from 'vue-i18n'
import type { RunStatus } from '@/api/types'
import { formatSeconds } from '@/lib/format'
import type { TraceRow } from '@/lib/trace'
import { useToolWords } from './useToolWords'
import { useTrace } from './useTrace'

const ENDED_WELL: ReadonlySet<string> = new Set(['success', 'completed'])

/** Rows of a trace in words. */
export function useTraceWords() {
  const { t, locale } = useI18n()
  const { toolName, toolLine } = useToolWords()
  const { run, now } = useTrace()

  function name(row: TraceRow): string {
    if (row.call) return toolName(row.call.function.name)
    return row.kind === 'step' ? t('trace.step', { n: (row.step ?? 0) + 1 }) : t('trace.run')
  }
  function line(row: TraceRow): string {
    if (row.call) return toolLine(row.call)
    if (row.kind === 'step') return row.source?.text.trim().split('\n')[0] || row.source?.model || ''
    return run.data.value?.model ?? ''
  }
  /** Nothing for what simply went well. */
  function state(row: TraceRow): string {
    if (ENDED_WELL.has(row.state)) return ''
    if (row.call) return t(`calls.state_${row.state}`)
    return row.kind === 'run' ? t(`runs.state_${row.state as RunStatus}`) : t(`trace.step_${row.state}`)
  }
  function duration(row: TraceRow): string {
    if (row.start === null) return ''
    return formatSeconds(Math.max(0, (row.end ?? now.value) - row.start) / 1000, locale.value)
  }
  return { name, line, state, duration, toolName }
}
