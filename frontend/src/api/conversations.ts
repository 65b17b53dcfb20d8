import { api, send } from './client'
import type { Conversation, ImportReport, Message, MessagePage, Page, Run, TagCount } from './types'

export type ConversationInput = Partial<
  Pick<Conversation, 'title' | 'project_id' | 'model' | 'system_prompt' | 'temperature' | 'max_tokens' | 'thinking' | 'tools_off' | 'active_leaf_id' | 'pinned' | 'archived' | 'tags' | 'temporary'>
>
export type ConversationSort = 'updated' | 'created' | 'title'
/** Which conversations a list shows; without a word about it, those that are not archived. */
export interface ConversationFilter {
  project_id?: string
  archived?: 'true' | 'false' | 'any'
  pinned?: boolean
  deleted?: boolean
  tag?: string
  q?: string
  sort?: ConversationSort
  limit?: number
}

export interface SendInput {
  content: string
  /** Paths of the project's files. */
  attachments?: string[]
  tools?: string[]
  model?: string
  parent_id?: string | null
  client_id?: string
}

export const listConversations = (filter: ConversationFilter & { cursor?: string } = {}) =>
  api.get<Page<Conversation>>('/api/conversations', { limit: 100, ...filter })
export const listTags = (projectId?: string) => api.get<{ items: TagCount[] }>('/api/conversations/tags', { project_id: projectId })
export const getConversation = (id: string) => api.get<Conversation>(`/api/conversations/${id}`)
export const createConversation = (input: ConversationInput) => api.post<Conversation>('/api/conversations', input)
export const patchConversation = (id: string, input: ConversationInput) => api.patch<Conversation>(`/api/conversations/${id}`, input)
export const deleteConversation = (id: string) => api.delete(`/api/conversations/${id}`)
/** Takes one out of the bin; there is no way back. */
export const deleteConversationForGood = (id: string) => api.delete(`/api/conversations/${id}?for_good=true`)
export const restoreConversation = (id: string) => api.post<Conversation>(`/api/conversations/${id}/restore`)
/** A new conversation with everything up to and with that message. */
export const forkConversation = (id: string, messageId: string) => api.post<Conversation>(`/api/conversations/${id}/fork`, { message_id: messageId })
export const exportConversation = (id: string, format: 'md' | 'json') => send('GET', `/api/conversations/${id}/export`, { query: { format } })
export const EXPORT_ALL = '/api/export'
export async function importConversations(file: File, projectId?: string | null): Promise<ImportReport> {
  const body = new FormData()
  body.append('file', file, file.name)
  return (await send('POST', '/api/import', { body, query: { project_id: projectId } })).json() as Promise<ImportReport>
}

export const listMessages = (conversationId: string, query: { leaf?: string; cursor?: string; around?: string; limit?: number }) =>
  api.get<MessagePage>(`/api/conversations/${conversationId}/messages`, { limit: 50, ...query })
export const sendMessage = (conversationId: string, input: SendInput) =>
  api.post<{ message: Message; run: Run | null }>(`/api/conversations/${conversationId}/messages`, input)
/** Another answer to the same question, as a branch. */
export const regenerate = (messageId: string, input: { tools?: string[]; model?: string }) =>
  api.post<{ message: Message; run: Run }>(`/api/messages/${messageId}/regenerate`, input)
export const editQueuedMessage = (id: string, content: string) => api.patch<Message>(`/api/messages/${id}`, { content })
export const withdrawMessage = (id: string) => api.delete(`/api/messages/${id}`)
/** With all that follows it on its branch; it can be restored. */
export const deleteMessage = (id: string) => api.delete(`/api/messages/${id}?following=true`)
export const restoreMessage = (id: string) => api.post<Message>(`/api/messages/${id}/restore`)
