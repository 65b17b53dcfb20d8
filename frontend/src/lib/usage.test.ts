import { describe, expect, it } from 'vitest'
import type { PeriodUsage } from '@/api/stats'
import { byModel, roundUp, totals, wholeAxis } from './usage'

const day = (period: string, tokens: number): PeriodUsage => ({ period, runs: 1, prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens, cost_micros: 10, currency: 'EUR' })

describe('usage', () => {
  it('sums periods', () => expect(totals([day('2026-01-01', 5), day('2026-01-02', 7)])).toEqual({ runs: 2, tokens: 12, costMicros: 20, currency: 'EUR' }))

  it('puts every period up to today on the axis, the unused ones as zero', () => {
    const daily = wholeAxis([day('2026-02-01', 5), day('2026-02-01', 2)], 'daily', new Date('2026-02-02T23:00:00Z'))
    expect(daily).toHaveLength(30)
    expect(daily.slice(-3).map((item) => [item.period, item.total_tokens, item.runs])).toEqual([['2026-01-31', 0, 0], ['2026-02-01', 7, 2], ['2026-02-02', 0, 0]])
    const weekly = wholeAxis([day('2026-01-26', 3)], 'weekly', new Date('2026-02-01T12:00:00Z'))
    expect(weekly.at(-1)).toMatchObject({ period: '2026-01-26', total_tokens: 3 })
    const monthly = wholeAxis([day('2025-12-01', 4)], 'monthly', new Date('2026-02-28T00:00:00Z'))
    expect(monthly.slice(-3).map((item) => [item.period, item.total_tokens])).toEqual([['2025-12-01', 4], ['2026-01-01', 0], ['2026-02-01', 0]])
  })

  it('groups by model, most tokens first', () => {
    const row = (model: string, total_tokens: number, runs = 1) => ({ model, total_tokens, runs })
    expect(byModel([row('a', 5), row('', 9), row('a', 6, 2)], 'usual')).toEqual([{ name: 'a', value: 11, more: 3 }, { name: 'usual', value: 9, more: 1 }])
  })

  it.each([[0, 1], [1, 1], [72, 100], [130, 200], [210, 250], [0.3, 0.5]])('rounds %d up to %d', (value, top) => expect(roundUp(value)).toBeCloseTo(top))
})
