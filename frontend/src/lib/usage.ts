import type { Period, PeriodUsage, RunStats } from '@/api/stats'

/** Figures of the usage page, from the server's sums. Pure. */

type ModelSum = Pick<RunStats['models'][number], 'model' | 'runs' | 'total_tokens'>

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

export interface Share {
  name: string
  value: number
  more: number
}

/** Tokens (and runs) by model, most first; sums in several currencies are one share. */
export function byModel(rows: ModelSum[], unnamed: string): Share[] {
  const found = new Map<string, Share>()
  for (const row of rows) {
    const name = row.model || unnamed
    const share = found.get(name) ?? { name, value: 0, more: 0 }
    found.set(name, { name, value: share.value + row.total_tokens, more: share.more + row.runs })
  }
  return [...found.values()].sort((a, b) => b.value - a.value)
}

const DAY_MS = 86_400_000
/** How far back each axis goes, as the server sums it. */
const SHOWN: Record<Period, number> = { daily: 30, weekly: 12, monthly: 12 }

function startOf(day: Date, step: Period): Date {
  const date = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), step === 'monthly' ? 1 : day.getUTCDate()))
  return step === 'weekly' ? new Date(date.getTime() - ((date.getUTCDay() + 6) % 7) * DAY_MS) : date
}

function back(from: Date, step: Period, by: number): Date {
  if (step === 'monthly') return new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() - by, 1))
  return new Date(from.getTime() - by * (step === 'weekly' ? 7 : 1) * DAY_MS)
}

const unused = (period: string): PeriodUsage => ({ period, runs: 0, prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cost_micros: 0, currency: '' })

/** Every period up to today, oldest first, those without runs as zero; currencies of one period are counted together. */
export function wholeAxis(periods: PeriodUsage[], step: Period, today: Date): PeriodUsage[] {
  const sums = new Map<string, PeriodUsage>()
  for (const item of periods) {
    const known = sums.get(item.period) ?? unused(item.period)
    sums.set(item.period, { ...item, runs: known.runs + item.runs, total_tokens: known.total_tokens + item.total_tokens, cost_micros: known.cost_micros + item.cost_micros })
  }
  const now = startOf(today, step)
  return Array.from({ length: SHOWN[step] }, (_, index) => back(now, step, SHOWN[step] - 1 - index).toISOString().slice(0, 10)).map((day) => sums.get(day) ?? unused(day))
}

/** A round number at or above the value: the top of an axis. */
export function roundUp(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((top) => top >= value)!
}
