import { createParser } from 'eventsource-parser'
import { currentCsrfToken } from '@/api/client'
import { ApiError, problemFrom } from '@/api/problem'

/** A stream of server events that survives: watchdog, resume by event id, backoff, polling when nothing else works. */

export interface LiveEvent {
  id: string | null
  type: string
  data: string
}

export type StreamState = 'open' | 'reconnecting' | 'caught-up' | 'polling'

export interface LiveOptions {
  url: string
  lastId?: string | null
  signal: AbortSignal
  onEvent: (event: LiveEvent) => void
  /** A connection stands; what follows may be any event after the last id. */
  onOpen?: () => void
  onState?: (state: StreamState, tries: number) => void
  /** True when nothing more will come: a closed stream is then the end, not a fault. */
  isDone?: () => boolean
  /** Asked every few seconds while the stream does not work; true means that nothing more will come. */
  poll?: () => Promise<boolean>
}

export const WATCHDOG_MS = 25_000
const CAUGHT_UP_MS = 2_000
const POLLING_AFTER_MS = 60_000
const BACKOFF_MS = [0, 300, 700, 1_500, 2_000, 3_000]
const POLL_PAUSE_MS = 5_000
const GONE = new Set([401, 403, 404, 410])

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      window.removeEventListener('online', end)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    window.addEventListener('online', end)
    signal.addEventListener('abort', end)
  })
}

/** One connection, until it closes or is silent for too long. Gives the last event id seen. */
async function connectOnce(options: LiveOptions, lastId: string | null, onAlive: () => void): Promise<string | null> {
  const connection = new AbortController()
  const stop = () => connection.abort()
  options.signal.addEventListener('abort', stop)
  let watchdog = setTimeout(stop, WATCHDOG_MS)
  let last = lastId
  try {
    const headers: Record<string, string> = { Accept: 'text/event-stream' }
    if (lastId !== null) headers['Last-Event-ID'] = lastId
    if (currentCsrfToken()) headers['X-CSRF-Token'] = currentCsrfToken()
    const response = await fetch(options.url, { headers, signal: connection.signal, credentials: 'same-origin', cache: 'no-store' })
    if (!response.ok || !response.body) throw await problemFrom(response)
    options.onOpen?.()
    onAlive()
    const parser = createParser({
      onEvent: (event) => {
        if (event.id) last = event.id
        options.onEvent({ id: event.id ?? null, type: event.event ?? 'message', data: event.data })
      },
    })
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return last
      clearTimeout(watchdog)
      watchdog = setTimeout(stop, WATCHDOG_MS)
      parser.feed(value)
    }
  } catch (error) {
    if (error instanceof ApiError && GONE.has(error.status)) throw error
    return last
  } finally {
    clearTimeout(watchdog)
    options.signal.removeEventListener('abort', stop)
    connection.abort()
  }
}

/** Follows a stream until it is done or aborted. Throws ApiError when the thing itself is gone (404, 401). */
export async function followStream(options: LiveOptions): Promise<void> {
  let lastId = options.lastId ?? null
  let tries = 0
  let lostAt = 0
  const tell = (state: StreamState) => options.onState?.(state, tries)

  function alive(): void {
    if (tries > 0) {
      tell('caught-up')
      setTimeout(() => !options.signal.aborted && tries === 0 && tell('open'), CAUGHT_UP_MS)
    }
    tries = 0
    lostAt = 0
  }
  while (!options.signal.aborted && !options.isDone?.()) {
    lastId = await connectOnce(options, lastId, alive)
    if (options.signal.aborted || options.isDone?.()) return
    lostAt ||= Date.now()
    tries += 1
    const polling = Date.now() - lostAt > POLLING_AFTER_MS
    tell(polling ? 'polling' : 'reconnecting')
    if (polling && (await options.poll?.().catch(() => false))) return
    const usual = polling ? POLL_PAUSE_MS : BACKOFF_MS[Math.min(tries - 1, BACKOFF_MS.length - 1)]!
    await pause(usual * (0.8 + 0.4 * Math.random()), options.signal)
  }
}
