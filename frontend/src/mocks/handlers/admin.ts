import { json, page, problem, type Handlers } from '..'
import { db, newId, now } from '../db'
import type { Provider } from '@/api/providers'
import type { Token } from '@/api/tokens'

const providers: Provider[] = [{ id: 'prov1', name: 'Local', kind: 'openai', base_url: 'http://127.0.0.1:11434/v1', has_key: false, models: ['qwen3-coder'], options: {}, enabled: true, created_at: now() }]
const tokens: Token[] = []
const provider = (id: string) => providers.find((other) => other.id === id)
const DAYS = 20

const LONGER: Record<string, number> = { daily: 1, weekly: 3, monthly: 11 }
const toolsUsed = (period: string) => db.tools.slice(0, 4 + (LONGER[period] ?? 1)).map((tool, place) => ({ name: tool.name, calls: (24 - place) * (LONGER[period] ?? 1), errors: place % 3 }))

export const adminHandlers: Handlers = {
  'GET /api/admin/providers': () => page(providers),
  'GET /api/admin/providers/found': () => page(providers.length > 1 ? [] : [{ name: 'LM Studio', base_url: 'http://127.0.0.1:1234/v1', models: ['gemma-3'] }]),
  'POST /api/admin/providers': async (request) => {
    const { api_key, ...body } = await request.json()
    const made = { id: newId('prov'), kind: 'openai', base_url: '', models: [], options: {}, enabled: true, created_at: now(), ...body, has_key: Boolean(api_key) } as unknown as Provider
    providers.push(made)
    return json(made, 201)
  },
  'PATCH /api/admin/providers/:id': async (request) => {
    const known = provider(request.params.id!)
    if (!known) return problem(404, 'not_found', 'There is no such provider.')
    const { api_key, ...body } = await request.json()
    return json(Object.assign(known, body, api_key === undefined ? {} : { has_key: Boolean(api_key) }))
  },
  'DELETE /api/admin/providers/:id': ({ params }) => {
    providers.splice(providers.findIndex((other) => other.id === params.id), 1)
    return json(null, 204)
  },
  'POST /api/admin/providers/:id/test': () => json({ ok: true, model: 'qwen3-coder', latency_ms: 420, error: null, code: null }),
  'GET /api/auth/tokens': () => page(tokens),
  'POST /api/auth/tokens': async (request) => {
    const body = await request.json()
    const token = { id: newId('tok'), name: String(body.name), created_at: now(), last_used_at: null }
    tokens.unshift(token)
    return json({ ...token, token: 'nc_mock_0123456789abcdef' }, 201)
  },
  'DELETE /api/auth/tokens/:id': ({ params }) => {
    tokens.splice(tokens.findIndex((other) => other.id === params.id), 1)
    return json(null, 204)
  },
  'GET /api/stats/runs': ({ url }) => json({ tools: toolsUsed(url.searchParams.get('period') ?? 'daily'), runs: 68, ended: 66, completed: 61, measured: 66, p95_seconds: 38.2, models: [{ model: 'qwen3-coder', runs: 50, total_tokens: 48_200, cost_micros: 0, currency: 'USD' }, { model: '', runs: 18, total_tokens: 9_100, cost_micros: 0, currency: 'USD' }] }),
  'GET /api/stats/queue': () => json({ waiting: 1, running: 2, workers: 16, oldest_seconds: 3.4 }),
  'GET /api/stats/tokens': () =>
    page(Array.from({ length: DAYS }, (_, ago) => ({ period: new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10), runs: 3 + (ago % 4), prompt_tokens: 900 + ((ago * 371) % 2400), completion_tokens: 240, total_tokens: 1140 + ((ago * 371) % 2400), cost_micros: 1200, currency: 'USD' })).filter((_, ago) => ago % 6 !== 5).reverse()),
}
