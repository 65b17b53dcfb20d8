import { api } from './client'
import type { Conversation, Message, MessagePage, Page, Run } from './types'

export type ConversationInput = Partial<
  Pick<Conversation, 'title' | 'project_id' | 'model' | 'system_prompt' | 'temperature' | 'max_tokens' | 'thinking' | 'active_leaf_id'>
>

export interface SendInput {
  content: string
  /** Paths of the project's files. */
  attachments?: string[]
  tools?: string[]
  model?: string
  parent_id?: string | null
  client_id?: string
}

export const listConversations = (filter: { project_id?: string; cursor?: string; limit?: number } = {}) =>
  api.get<Page<Conversation>>('/api/conversations', { limit: 100, ...filter })
export const getConversation = (id: string) => api.get<Conversation>(`/api/conversations/${id}`)
export const createConversation = (input: ConversationInput) => api.post<Conversation>('/api/conversations', input)
export const patchConversation = (id: string, input: ConversationInput) => api.patch<Conversation>(`/api/conversations/${id}`, input)
export const deleteConversation = (id: string) => api.delete(`/api/conversations/${id}`)
export const restoreConversation = (id: string) => api.post<Conversation>(`/api/conversations/${id}/restore`)

export const listMessages = (conversationId: string, query: { leaf?: string; cursor?: string; around?: string }) =>
  api.get<MessagePage>(`/api/conversations/${conversationId}/messages`, { limit: 50, ...query })
export const sendMessage = (conversationId: string, input: SendInput) =>
  api.post<{ message: Message; run: Run | null }>(`/api/conversations/${conversationId}/messages`, input)
/** Another answer to the same question, as a branch. */
export const regenerate = (messageId: string, input: { tools?: string[]; model?: string }) =>
  api.post<{ message: Message; run: Run }>(`/api/messages/${messageId}/regenerate`, input)
export const editQueuedMessage = (id: string, content: string) => api.patch<Message>(`/api/messages/${id}`, { content })
export const withdrawMessage = (id: string) => api.delete(`/api/messages/${id}`)
