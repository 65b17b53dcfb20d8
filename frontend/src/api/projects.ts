import { api } from './client'
import type { Page, Project } from './types'

export type ProjectInput = Partial<Pick<Project, 'name' | 'description' | 'instructions' | 'path' | 'default_model' | 'allowed_tools' | 'limits'>>

export const listProjects = (cursor?: string) => api.get<Page<Project>>('/api/projects', { limit: 200, cursor })
export const getProject = (id: string) => api.get<Project>(`/api/projects/${id}`)
export const createProject = (input: ProjectInput & { name: string }) => api.post<Project>('/api/projects', input)
export const patchProject = (id: string, input: ProjectInput) => api.patch<Project>(`/api/projects/${id}`, input)
export const deleteProject = (id: string) => api.delete(`/api/projects/${id}`)
export const restoreProject = (id: string) => api.post<Project>(`/api/projects/${id}/restore`)
