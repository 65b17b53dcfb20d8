import { ApiError, problemFrom } from './problem'

/** The one door to the server: cookies, CSRF token, JSON both ways, problem+json as ApiError. */

const SAFE = new Set(['GET', 'HEAD'])
let csrfToken = ''
let onSignedOut: () => void = () => {}

export const currentCsrfToken = (): string => csrfToken
export const setCsrfToken = (token: string): void => {
  csrfToken = token
}
export const whenSignedOut = (callback: () => void): void => {
  onSignedOut = callback
}

export interface RequestOptions {
  query?: Record<string, string | number | boolean | null | undefined>
  json?: unknown
  body?: BodyInit
  headers?: Record<string, string>
  signal?: AbortSignal
}

export function urlOf(path: string, query: RequestOptions['query'] = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '')
  if (!pairs.length) return path
  return `${path}?${new URLSearchParams(pairs.map(([key, value]) => [key, String(value)]))}`
}

function headersFor(method: string, options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = { Accept: 'application/json, application/problem+json', ...options.headers }
  if (options.json !== undefined) headers['Content-Type'] = 'application/json'
  if (!SAFE.has(method) && csrfToken) headers['X-CSRF-Token'] = csrfToken
  return headers
}

/** Sends one request and gives the raw response; throws ApiError for anything but 2xx. */
export async function send(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
  let response: Response
  try {
    response = await fetch(urlOf(path, options.query), {
      method,
      headers: headersFor(method, options),
      body: options.json !== undefined ? JSON.stringify(options.json) : options.body,
      signal: options.signal,
      credentials: 'same-origin',
    })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(0, 'offline', 'The server could not be reached')
  }
  if (response.ok) return response
  if (response.status === 401) onSignedOut()
  throw await problemFrom(response)
}

async function json<Answer>(method: string, path: string, options?: RequestOptions): Promise<Answer> {
  const response = await send(method, path, options)
  const text = await response.text()
  return (text ? JSON.parse(text) : null) as Answer
}

export const api = {
  get: <Answer>(path: string, query?: RequestOptions['query'], signal?: AbortSignal) => json<Answer>('GET', path, { query, signal }),
  post: <Answer>(path: string, body: unknown = {}, options: RequestOptions = {}) => json<Answer>('POST', path, { json: body, ...options }),
  patch: <Answer>(path: string, body: unknown, options: RequestOptions = {}) => json<Answer>('PATCH', path, { json: body, ...options }),
  put: <Answer>(path: string, options: RequestOptions) => json<Answer>('PUT', path, options),
  delete: <Answer = null>(path: string, options: RequestOptions = {}) => json<Answer>('DELETE', path, options),
}
