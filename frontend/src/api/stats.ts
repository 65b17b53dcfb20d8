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

/** How the runs of a time went; `p95_seconds` is of the newest `measured` that have ended. */
export interface RunStats {
  runs: number
  ended: number
  completed: number
  measured: number
  p95_seconds: number | null
  models: { model: string; runs: number; total_tokens: number; cost_micros: number; currency: string }[]
  /** The most used first. */
  tools: { name: string; calls: number; errors: number }[]
}
export const runStats = (period: Period) => api.get<RunStats>('/api/stats/runs', { period })

/** The queue of everyone's runs, now. */
export interface QueueStats {
  waiting: number
  running: number
  workers: number
  oldest_seconds: number | null
}
export const queueStats = () => api.get<QueueStats>('/api/stats/queue')

export interface Readiness {
  status: string
  details?: { sandbox?: Record<string, string>; queue?: Record<string, number>; database?: Record<string, unknown> }
}
export const readiness = () => api.get<Readiness>('/readyz')
