import { describe, expect, it } from 'vitest'
import type { PeriodUsage } from '@/api/stats'
import type { Run } from '@/api/types'
import { byModel, health, quantile, roundUp, totals, withoutGaps } from './usage'

const day = (period: string, tokens: number): PeriodUsage => ({ period, runs: 1, prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens, cost_micros: 10, currency: 'EUR' })
const run = (status: Run['status'], seconds: number, model = 'm', tokens = 10): Run =>
  ({ status, model, usage: { total_tokens: tokens }, started_at: '2026-01-01T00:00:00Z', finished_at: status === 'running' ? null : new Date(Date.UTC(2026, 0, 1) + seconds * 1000).toISOString() }) as Run

describe('usage', () => {
  it('sums periods', () => expect(totals([day('2026-01-01', 5), day('2026-01-02', 7)])).toEqual({ runs: 2, tokens: 12, costMicros: 20, currency: 'EUR' }))

  it('shows periods with no runs as zero', () => {
    expect(withoutGaps([day('2026-01-30', 5), day('2026-02-02', 7)], 'daily').map((item) => [item.period, item.total_tokens])).toEqual([['2026-01-30', 5], ['2026-01-31', 0], ['2026-02-01', 0], ['2026-02-02', 7]])
    expect(withoutGaps([day('2025-11-01', 1), day('2026-02-01', 1)], 'monthly').map((item) => item.period)).toEqual(['2025-11-01', '2025-12-01', '2026-01-01', '2026-02-01'])
    expect(withoutGaps([day('2026-01-05', 1), day('2026-01-19', 1)], 'weekly')).toHaveLength(3)
    expect(withoutGaps([], 'daily')).toEqual([])
  })

  it('counts success among the runs that ended', () => {
    expect(health([run('completed', 1), run('failed', 3), run('running', 0)])).toEqual({ success: 0.5, p95: 3 })
    expect(health([])).toEqual({ success: null, p95: null })
  })

  it('finds the nearest rank', () => {
    expect(quantile([5, 1, 2, 3, 4], 0.5)).toBe(3)
    expect(quantile(Array.from({ length: 100 }, (_, n) => n + 1), 0.95)).toBe(95)
    expect(quantile([], 0.95)).toBeNull()
  })

  it('groups by model, most tokens first', () => expect(byModel([run('completed', 1, 'a', 5), run('completed', 1, '', 9), run('completed', 1, 'a', 6)], 'usual')).toEqual([{ name: 'a', value: 11, more: 2 }, { name: 'usual', value: 9, more: 1 }]))

  it.each([[0, 1], [1, 1], [72, 100], [130, 200], [210, 250], [0.3, 0.5]])('rounds %d up to %d', (value, top) => expect(roundUp(value)).toBeCloseTo(top))
})
