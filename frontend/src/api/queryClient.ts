import { QueryCache, QueryClient } from '@tanstack/vue-query'
import { ApiError } from './problem'

const FRESH_MS = 30_000
const KEEP_MS = 30 * 60_000
const RETRIES = 2

type Listener = (reachable: boolean) => void
const listeners = new Set<Listener>()
/** Tells whenever a query shows that the server can, or cannot, be reached. */
export const onReachability = (listener: Listener): void => void listeners.add(listener)

const isOffline = (error: unknown) => error instanceof ApiError && error.offline

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => isOffline(error) && listeners.forEach((listener) => listener(false)),
    onSuccess: () => listeners.forEach((listener) => listener(true)),
  }),
  defaultOptions: {
    queries: {
      staleTime: FRESH_MS,
      gcTime: KEEP_MS,
      networkMode: 'always',
      retry: (count, error) => count < RETRIES && error instanceof ApiError && error.retryable,
    },
    mutations: { networkMode: 'always', retry: false },
  },
})
