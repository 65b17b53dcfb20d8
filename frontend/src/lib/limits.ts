import type { Limits } from '@/api/types'

export type LimitName = keyof Limits

/** The limits of a run: usual values and what may be asked for, as the outer contract names them. */
export const LIMITS: { name: LimitName; usual: number; least: number; most: number }[] = [
  { name: 'max_steps', usual: 20, least: 1, most: 200 },
  { name: 'run_timeout_seconds', usual: 300, least: 1, most: 3600 },
  { name: 'step_timeout_seconds', usual: 60, least: 1, most: 600 },
  { name: 'max_retries_per_tool', usual: 2, least: 0, most: 10 },
  { name: 'max_consecutive_errors', usual: 3, least: 1, most: 50 },
]
