import { api } from './client'
import type { Call, Page, Tool } from './types'

export const listTools = () => api.get<Page<Tool>>('/api/tools', { limit: 200 })
export const executeTool = (name: string, args: Record<string, unknown>, projectId?: string, fresh?: boolean) =>
  api.post<Call>(`/api/tools/${name}/execute`, { arguments: args, project_id: projectId, fresh })
export const patchTool = (name: string, input: { enabled?: boolean; policy?: Tool['policy'] }) =>
  api.patch<Tool>(`/api/tools/${name}`, input)
