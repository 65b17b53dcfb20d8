import { api } from './client'
import type { Page, SearchHit } from './types'

export const searchAll = (text: string, signal?: AbortSignal) => api.get<Page<SearchHit>>('/api/search', { q: text, limit: 30 }, signal)
/** The messages of one conversation that hold a text, newest first. */
export const findInConversation = (conversationId: string, text: string, signal?: AbortSignal) =>
  api.get<Page<SearchHit>>('/api/search', { q: text, conversation_id: conversationId, limit: 200 }, signal)
