import { useQuery } from '@tanstack/vue-query'
import { getMe } from '@/api/auth'
import { setCsrfToken } from '@/api/client'
import { keys } from '@/api/keys'
import { queryClient } from '@/api/queryClient'

const SESSION_FRESH_MS = 5 * 60_000

async function fetchMe() {
  const me = await getMe()
  setCsrfToken(me.csrf_token)
  return me
}

const session = { queryKey: keys.me, queryFn: fetchMe, staleTime: SESSION_FRESH_MS }

/** Makes sure that someone is signed in; throws ApiError 401 if not. */
export const loadSession = () => queryClient.fetchQuery(session)

/** Who is signed in. */
export const useSession = () => useQuery(session)
