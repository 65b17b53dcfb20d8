import { api } from './client'
import type { Me } from './types'

export const getMe = () => api.get<Me>('/api/auth/me')
export const patchMe = (settings: Record<string, unknown>) => api.patch<Me>('/api/auth/me', { settings })
export const getAuthMode = () => api.get<{ mode: 'single' | 'multi' }>('/api/auth/mode')
export const logout = () => api.post<null>('/api/auth/logout')
