import { api } from './client'
import type { Page, Project } from './types'

export type ProjectInput = Partial<Pick<Project, 'name' | 'description' | 'instructions' | 'path' | 'default_model' | 'allowed_tools' | 'limits' | 'pinned' | 'archived'>>
/** Which projects a list shows; without a word about it, those that are not archived. */
export interface ProjectFilter {
  archived?: 'true' | 'false' | 'any'
  deleted?: boolean
  limit?: number
  cursor?: string
}

export const listProjects = (filter: ProjectFilter = {}) => api.get<Page<Project>>('/api/projects', { limit: 200, ...filter })
export const getProject = (id: string) => api.get<Project>(`/api/projects/${id}`)
export const createProject = (input: ProjectInput & { name: string }) => api.post<Project>('/api/projects', input)
export const patchProject = (id: string, input: ProjectInput) => api.patch<Project>(`/api/projects/${id}`, input)
export const deleteProject = (id: string) => api.delete(`/api/projects/${id}`)
/** Takes one out of the bin; there is no way back. */
export const deleteProjectForGood = (id: string) => api.delete(`/api/projects/${id}?for_good=true`)
export const restoreProject = (id: string) => api.post<Project>(`/api/projects/${id}/restore`)
