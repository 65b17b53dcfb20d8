import { handlers } from './handlers'
import { saveBlob } from '@/lib/save'
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

const routes = compile(handlers)
/** What answers an address, and the values of its placeholders. */
export function routeTo(method: string, path: string): { handler: Handler; params: Record<string, string> } | null {
  for (const route of routes) {
    const match = route.method === method ? route.pattern.exec(path) : null
    if (match) return { handler: route.handler, params: Object.fromEntries(route.names.map((name, index) => [name, decodeURIComponent(match[index + 1]!)])) }
  }
  return null
}

/** Links that save a file lead past fetch(): what they save is asked of the mocks too. */
function installDownloads(): void {
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest?.<HTMLAnchorElement>('a[download][href^="/api/"]')
    if (!link) return
    event.preventDefault()
    void fetch(link.href).then(async (answer) => saveBlob(await answer.blob(), link.download || 'nanoclaw.json'))
  })
}

export async function installMocks(): Promise<void> {
  const realFetch = window.fetch.bind(window)
  window.fetch = async (input, init) => {
    const request = new Request(input instanceof Request ? input : new URL(String(input), location.origin), init)
    const url = new URL(request.url)
    if (!url.pathname.startsWith('/api') && !url.pathname.endsWith('z')) return realFetch(input, init)
    await new Promise((resolve) => setTimeout(resolve, LATENCY_MS))
    const route = routeTo(request.method, url.pathname)
    const text = () => request.clone().text()
    if (route) return route.handler({ method: request.method, url, params: route.params, headers: request.headers, signal: request.signal, text, json: async () => JSON.parse((await text()) || '{}') as Record<string, unknown> })
    return problem(404, 'not_found', `No mock for ${request.method} ${url.pathname}`)
  }
  installUploads()
  installDownloads()
}

export const json = (body: unknown, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(status === 204 ? null : JSON.stringify(body), { status, headers: { 'Content-Type': 'application/json', ...headers } })

export const page = (items: unknown[], more: Record<string, unknown> = {}): Response => json({ items, next_cursor: null, ...more })

export const problem = (status: number, code: string, detail: string): Response =>
  new Response(JSON.stringify({ type: 'about:blank', title: code, status, code, detail }), { status, headers: { 'Content-Type': 'application/problem+json' } })
