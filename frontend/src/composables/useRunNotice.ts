import { onScopeDispose, ref } from 'vue'
import { useI18n } from 'vue-i18n'
import type { Call } from '@/api/types'
import type { RunEvent, RunView } from '@/lib/runView'
import { countWords } from '@/lib/words'
import { useToolWords } from './useToolWords'

const PACE_MS = 5_000
const LIMITS: ReadonlySet<string> = new Set(['max_steps', 'run_timeout'])

/** What a screen reader hears of a run: at most one line in five seconds; errors at once. */
export function useRunNotice() {
  const { t, locale } = useI18n()
  const { toolName } = useToolWords()
  const polite = ref('')
  const assertive = ref('')
  let saidAt = 0
  let next = ''
  let timer: ReturnType<typeof setTimeout> | undefined

  function flush(): void {
    timer = undefined
    saidAt = Date.now()
    polite.value = next
  }
  function say(text: string): void {
    next = text
    timer ??= setTimeout(flush, Math.max(0, saidAt + PACE_MS - Date.now()))
  }
  function onEvent(event: RunEvent, view: RunView): void {
    const name = () => toolName((event.data.call as Call).function.name)
    if (event.type === 'run.started') say(t('chat.sayAnswering'))
    if (event.type === 'tool_call.started') say(t('chat.sayToolStarted', { name: name() }))
    if (event.type === 'tool_call.finished' && (event.data.call as Call).success === false) say(t('chat.sayToolFailed', { name: name() }))
    if (event.type !== 'run.finished') return
    const words = countWords(view.messages.at(-1)?.content ?? '', locale.value)
    if (view.status === 'failed') assertive.value = t('chat.sayFailed')
    else if (view.status !== 'completed') say(LIMITS.has(view.stopReason ?? '') ? t(`chat.stop_${view.stopReason}`) : t('chat.sayStopped'))
    else say(t('chat.sayFinished', { n: words }, words))
  }
  onScopeDispose(() => clearTimeout(timer))
  return { polite, assertive, onEvent }
}
