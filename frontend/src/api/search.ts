import { api } from './client'
import type { Page, SearchHit } from './types'

export const searchAll = (text: string, signal?: AbortSignal) => api.get<Page<SearchHit>>('/api/search', { q: text, limit: 30 }, signal)
