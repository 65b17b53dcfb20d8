import { useI18n } from 'vue-i18n'
import type { Call, Tool } from '@/api/types'
import { callLine, callResult, callState, isBad } from '@/lib/calls'
import { callSummary } from '@/lib/callSummary'
import { useErrorWords } from './useErrorText'

/** Tools and their calls in the reader's language; tools of one's own are told in the server's words. */
export function useToolWords() {
  const { t, te, locale } = useI18n()
  const { sentence, wide } = useErrorWords()
  const say = (key: string, values: Record<string, unknown>, count?: number): string => (count === undefined ? t(key, values) : t(key, values, count))

  const toolName = (name: string): string => (te(`builtin.title_${name}`) ? t(`builtin.title_${name}`) : name)
  const toolAbout = (tool: Pick<Tool, 'name' | 'description'>): string => (te(`builtin.about_${tool.name}`) ? t(`builtin.about_${tool.name}`) : tool.description)
  /** Which part of the project or the web a failed call was about, and why it failed. */
  function failure(call: Call): string {
    const { code, error } = callResult(call)
    const worded = sentence(code || call.status)
    // Its facts are worth more than a wide sentence to those who can read them.
    if (error && wide(code) && locale.value === 'en') return error
    if (!worded) return error || callSummary(call, say, locale.value)
    const about = callLine({ ...call, summary: null })
    return about ? t('calls.failedAt', { about, why: worded }) : worded
  }
  /** The one line of a card. */
  const toolLine = (call: Call): string => (isBad(callState(call)) && (callResult(call).error || call.status !== 'error') ? failure(call) : callSummary(call, say, locale.value))
  /** What was done instead, when a tool could not do what was asked. */
  const toolFallback = (call: Call): string => {
    const kind = call.degraded ?? ''
    return kind && t('calls.degraded', { what: te(`calls.degraded_${kind}`) ? t(`calls.degraded_${kind}`) : kind })
  }
  return { toolName, toolAbout, toolLine, toolFallback }
}
