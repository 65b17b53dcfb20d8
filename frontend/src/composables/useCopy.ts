import { useI18n } from 'vue-i18n'
import { useToasts } from '@/stores/toasts'

/** Copies text and says so; works without the clipboard API too (plain http on another host). */
export function useCopy() {
  const { t } = useI18n()
  const toasts = useToasts()
  return async (text: string): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
    } catch {
      const area = document.createElement('textarea')
      area.value = text
      document.body.append(area)
      area.select()
      document.execCommand('copy')
      area.remove()
    }
    toasts.show(t('common.copied'))
  }
}
