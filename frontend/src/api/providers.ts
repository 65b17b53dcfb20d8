import { api } from './client'
import type { Page } from './types'

/** A place to ask models; its key can be written, never read. */
export interface Provider {
  id: string
  name: string
  kind: 'openai' | 'anthropic'
  base_url: string
  has_key: boolean
  models: string[]
  options: Record<string, unknown>
  enabled: boolean
  created_at: string
}
export interface ProviderInput {
  name?: string
  kind?: Provider['kind']
  base_url?: string
  /** Left out: stays as it is; null: is removed. */
  api_key?: string | null
  models?: string[]
  enabled?: boolean
}
export interface FoundServer {
  name: string
  base_url: string
  models: string[]
}
export interface ProviderTest {
  ok: boolean
  model: string | null
  latency_ms: number | null
  error: string | null
  code: string | null
}

const BASE = '/api/admin/providers'
export const listProviders = () => api.get<Page<Provider>>(BASE)
export const listFoundServers = () => api.get<Page<FoundServer>>(`${BASE}/found`)
export const createProvider = (input: ProviderInput) => api.post<Provider>(BASE, input)
export const patchProvider = (id: string, input: ProviderInput) => api.patch<Provider>(`${BASE}/${id}`, input)
export const deleteProvider = (id: string) => api.delete(`${BASE}/${id}`)
export const testProvider = (id: string) => api.post<ProviderTest>(`${BASE}/${id}/test`)
