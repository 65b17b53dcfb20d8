import { api } from './client'
import type { Call, FileError, Tool, ToolPage } from './types'

export const listTools = () => api.get<ToolPage>('/api/tools', { limit: 200 })
export const executeTool = (name: string, args: Record<string, unknown>, projectId?: string, fresh?: boolean, signal?: AbortSignal) =>
  api.post<Call & { run_id?: string }>(`/api/tools/${name}/execute`, { arguments: args, project_id: projectId, fresh }, { signal })
export const patchTool = (name: string, input: { enabled?: boolean; policy?: Tool['policy'] | null }) =>
  api.patch<Tool>(`/api/tools/${name}`, input)
export const reloadTools = () => api.post<{ tools: number; errors: FileError[] }>('/api/tools/reload')
