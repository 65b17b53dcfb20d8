import { ref, watch, watchEffect } from 'vue'
import { useI18n } from 'vue-i18n'
import { useRoute } from 'vue-router'
import { preferredLocale, setLocale } from '@/i18n'
import { usePrefs } from '@/stores/prefs'
import { unseenAnswers } from './useFinishNotice'

const subject = ref('')
/** A page names what it shows ("Sales report"); the tab's title follows. */
export const setSubject = (text: string): void => {
  subject.value = text
}

/** Keeps the language and the tab's title right. */
export function useDocument(): void {
  const prefs = usePrefs()
  const route = useRoute()
  const { t } = useI18n()
  watch(() => prefs.locale, (locale) => void setLocale(locale ?? preferredLocale()))
  watch(() => route.path, () => (subject.value = ''), { flush: 'sync' })
  watchEffect(() => {
    const title = subject.value || (route.meta.title ? t(String(route.meta.title)) : '')
    document.title = (unseenAnswers.value ? `(${unseenAnswers.value}) ` : '') + (title ? `${title} · NanoClaw` : 'NanoClaw')
  })
}
