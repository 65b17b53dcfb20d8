import { api } from './client'
import type { Page, Usage } from './types'

export type Period = 'daily' | 'weekly' | 'monthly'
/** Usage of one day, week or month; `period` is its first day. */
export interface PeriodUsage extends Usage {
  period: string
  runs: number
  cost_micros: number
  currency: string
}
export const tokenStats = (period: Period) => api.get<Page<PeriodUsage>>('/api/stats/tokens', { period })

export interface Readiness {
  status: string
  details?: { sandbox?: Record<string, string>; queue?: Record<string, number>; database?: Record<string, unknown> }
}
export const readiness = () => api.get<Readiness>('/readyz')
