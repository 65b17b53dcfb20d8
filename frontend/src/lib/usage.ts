import type { PeriodUsage } from '@/api/stats'
import { isActive, type Run } from '@/api/types'

/** Figures of the usage page, from the server's sums and from the latest runs. Pure. */

export interface Totals {
  runs: number
  tokens: number
  costMicros: number
  currency: string
}

export function totals(periods: PeriodUsage[]): Totals {
  return {
    runs: periods.reduce((sum, item) => sum + item.runs, 0),
    tokens: periods.reduce((sum, item) => sum + item.total_tokens, 0),
    costMicros: periods.reduce((sum, item) => sum + item.cost_micros, 0),
    currency: periods[0]?.currency ?? 'USD',
  }
}

/** The value below which `share` of the values lie (nearest rank); null for none. */
export function quantile(values: number[], share: number): number | null {
  if (!values.length) return null
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!
}

const secondsOf = (run: Run): number => (Date.parse(run.finished_at ?? '') - Date.parse(run.started_at ?? '')) / 1000

/** Share of ended runs that completed, and how long runs took. */
export function health(runs: Run[]): { success: number | null; p95: number | null } {
  const ended = runs.filter((run) => !isActive(run.status))
  const good = ended.filter((run) => run.status === 'completed').length
  return { success: ended.length ? good / ended.length : null, p95: quantile(ended.map(secondsOf).filter((seconds) => Number.isFinite(seconds)), 0.95) }
}

export interface Share {
  name: string
  value: number
  more: number
}

/** Tokens (and runs) by model, most first. */
export function byModel(runs: Run[], unnamed: string): Share[] {
  const found = new Map<string, Share>()
  for (const run of runs) {
    const name = run.model || unnamed
    const share = found.get(name) ?? { name, value: 0, more: 0 }
    found.set(name, { name, value: share.value + run.usage.total_tokens, more: share.more + 1 })
  }
  return [...found.values()].sort((a, b) => b.value - a.value)
}

const DAY_MS = 86_400_000

/** Every period between the first and the last, those without runs as zero, so that gaps are seen. */
export function withoutGaps(periods: PeriodUsage[], step: 'daily' | 'weekly' | 'monthly'): PeriodUsage[] {
  const merged = new Map<string, PeriodUsage>()
  for (const item of periods) {
    const known = merged.get(item.period)
    merged.set(item.period, known ? { ...known, runs: known.runs + item.runs, total_tokens: known.total_tokens + item.total_tokens, cost_micros: known.cost_micros + item.cost_micros } : item)
  }
  const days = [...merged.keys()].sort()
  if (days.length < 2) return [...merged.values()]
  const filled: PeriodUsage[] = []
  let at = new Date(`${days[0]}T00:00:00Z`)
  const last = days.at(-1)!
  for (let day = days[0]!; day <= last; day = at.toISOString().slice(0, 10)) {
    filled.push(merged.get(day) ?? { period: day, runs: 0, prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cost_micros: 0, currency: '' })
    at = step === 'monthly' ? new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)) : new Date(at.getTime() + (step === 'weekly' ? 7 : 1) * DAY_MS)
  }
  return filled
}

/** A round number at or above the value: the top of an axis. */
export function roundUp(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((top) => top >= value)!
}
