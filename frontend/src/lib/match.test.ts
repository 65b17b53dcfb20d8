import { describe, expect, it } from 'vitest'
import { bestMatches, pinyinInitials, score } from './match'
import { groupByDay } from './days'

describe('fuzzy search', () => {
  it('finds Chinese names by the initials of their pinyin', () => {
    expect(pinyinInitials('销售报告')).toBe('xsbg')
    expect(score('销售报告', 'xsbg')).toBeGreaterThan(0)
    expect(score('销售报告', 'bg')).toBeGreaterThan(0)
    expect(score('销售报告', 'zz')).toBe(0)
  })

  it('prefers the beginning of a name to its middle, and that to scattered letters', () => {
    const names = ['New project', 'Renew licences', 'Projects']
    expect(bestMatches(names, 'proj', (name) => name)[0]).toBe('Projects')
    expect(bestMatches(names, 'npj', (name) => name)).toEqual(['New project'])
  })
})

describe('days', () => {
  it('are counted by the calendar, not by hours', () => {
    const now = new Date(2026, 4, 10, 0, 30)
    const items = [new Date(2026, 4, 10, 0, 1), new Date(2026, 4, 9, 23, 59), new Date(2026, 4, 5), new Date(2026, 3, 20), new Date(2025, 1, 1)]
    expect(groupByDay(items, (date) => date.toISOString(), now).map((group) => group.group)).toEqual(['today', 'yesterday', 'week', 'month', 'older'])
  })
})
