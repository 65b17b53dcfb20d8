import { api } from './client'
import { ApiError } from './problem'
import type { ModelInfo, Page } from './types'

/** Models on offer. A server without the resource has its one default model: an empty list. */
export async function listModels(): Promise<ModelInfo[]> {
  try {
    const answer = await api.get<Page<ModelInfo> | ModelInfo[]>('/api/models')
    return Array.isArray(answer) ? answer : answer.items
  } catch (error) {
    if (error instanceof ApiError && (error.status === 404 || error.status === 405)) return []
    throw error
  }
}
