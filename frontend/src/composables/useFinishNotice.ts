import { onScopeDispose, ref } from 'vue'
import { useI18n } from 'vue-i18n'
import type { RunView } from '@/lib/runView'
import { usePrefs } from '@/stores/prefs'

/** How many answers became ready while nobody looked at this tab; shown in its title. */
export const unseenAnswers = ref(0)

/** Whether this browser can notify at all, and what the person told it. */
export const canNotify = (): boolean => 'Notification' in window && window.isSecureContext
export async function askToNotify(): Promise<boolean> {
  return canNotify() && (await Notification.requestPermission()) === 'granted'
}

/** Tells of a run that ended in a hidden tab: by a note of the system if that is wished for, always in the tab's title. */
export function useFinishNotice(title: () => string) {
  const { t } = useI18n()
  const prefs = usePrefs()
  const onVisible = () => !document.hidden && (unseenAnswers.value = 0)
  document.addEventListener('visibilitychange', onVisible)
  onScopeDispose(() => document.removeEventListener('visibilitychange', onVisible))

  return (view: RunView): void => {
    if (!document.hidden) return
    unseenAnswers.value += 1
    if (!prefs.notify || !canNotify() || Notification.permission !== 'granted') return
    const note = new Notification(view.status === 'completed' ? t('chat.notifyDone') : t('chat.notifyEnded'), { body: title(), tag: view.runId })
    note.onclick = () => {
      window.focus()
      note.close()
    }
  }
}
