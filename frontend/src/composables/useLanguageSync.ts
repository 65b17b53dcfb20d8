import { useQueryClient } from '@tanstack/vue-query'
import { watch } from 'vue'
import { useI18n } from 'vue-i18n'
import { patchMe } from '@/api/auth'
import { keys } from '@/api/keys'
import { useSession } from './useSession'

/** Tells the server which language the person reads, since it titles what they begin with a command. */
export function useLanguageSync(): void {
  const client = useQueryClient()
  const session = useSession()
  const { locale } = useI18n()
  watch([session.data, locale], ([me, shown]) => {
    // A server that does not answer is told when the page is opened next.
    if (me && me.settings.language !== shown) patchMe({ language: shown }).then((now) => client.setQueryData(keys.me, now), () => undefined)
  }, { immediate: true })
}
