import { handlers } from './handlers'
import { installUploads } from './uploads'

/** The app with no server: fetch() is answered in the page. Never part of a production build. */

export interface MockRequest {
  method: string
  url: URL
  params: Record<string, string>
  headers: Headers
  json: () => Promise<Record<string, unknown>>
  text: () => Promise<string>
  signal: AbortSignal
}
export type Handler = (request: MockRequest) => Promise<Response> | Response
/** `GET /api/projects/:id` and what answers it. */
export type Handlers = Record<string, Handler>

const LATENCY_MS = 60

function compile(table: Handlers) {
  return Object.entries(table).map(([key, handler]) => {
    const [method, path] = key.split(' ') as [string, string]
    const names = [...path.matchAll(/:(\w+)/g)].map((match) => match[1]!)
    return { method, pattern: new RegExp(`^${path.replace(/:\w+/g, '([^/]+)')}$`), names, handler }
  })
}

export async function installMocks(): Promise<void> {
  const routes = compile(handlers)
  const realFetch = window.fetch.bind(window)
  window.fetch = async (input, init) => {
    const request = new Request(input instanceof Request ? input : new URL(String(input), location.origin), init)
    const url = new URL(request.url)
    if (!url.pathname.startsWith('/api') && !url.pathname.endsWith('z')) return realFetch(input, init)
    await new Promise((resolve) => setTimeout(resolve, LATENCY_MS))
    for (const { method, pattern, names, handler } of routes) {
      const match = pattern.exec(url.pathname)
      if (!match || method !== request.method) continue
      const params = Object.fromEntries(names.map((name, index) => [name, decodeURIComponent(match[index + 1]!)]))
      const text = () => request.clone().text()
      return handler({ method, url, params, headers: request.headers, signal: request.signal, text, json: async () => JSON.parse((await text()) || '{}') as Record<string, unknown> })
    }
    return problem(404, 'not_found', `No mock for ${request.method} ${url.pathname}`)
  }
  installUploads()
}

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(status === 204 ? null : JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json', ...headers } })

export const page = (items: unknown[], more: Record<string, unknown> = {}): Response => json({ items, next_cursor: null, ...more })

export const problem = (status: number, code: string, detail: string): Response =>
  new Response(JSON.stringify({ type: 'about:blank', title: code, status, code, detail }), { status, headers: { 'Content-Type': 'application/problem+json' } })
