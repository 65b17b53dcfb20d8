import { api } from './client'
import type { Page } from './types'

export interface Token {
  id: string
  name: string
  created_at: string
  last_used_at: string | null
}

export const listTokens = () => api.get<Page<Token>>('/api/auth/tokens', { limit: 200 })
/** The secret is in this answer only. */
export const createToken = (name: string) => api.post<Token & { token: string }>('/api/auth/tokens', { name })
export const deleteToken = (id: string) => api.delete(`/api/auth/tokens/${id}`)
