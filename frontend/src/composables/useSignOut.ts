import { computed } from 'vue'
import { logout } from '@/api/auth'
import { useToasts } from '@/stores/toasts'
import { useErrorText } from './useErrorText'
import { useSession } from './useSession'

/** Ending the session of this browser; only a session has a CSRF token, and a token of the API needs no end. */
export function useSignOut() {
  const session = useSession()
  const toasts = useToasts()
  const words = useErrorText()
  const possible = computed(() => Boolean(session.data.value?.csrf_token))
  async function signOut(): Promise<void> {
    try {
      await logout()
      // A new page: nothing of what was shown is left in it.
      location.assign('/login')
    } catch (error) {
      toasts.fail(words(error))
    }
  }
  return { possible, signOut }
}
