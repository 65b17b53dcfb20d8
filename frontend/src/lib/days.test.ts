import { describe, expect, it } from 'vitest'
import { dateOf } from './days'

describe('the date of a moment', () => {
  it('is that of the clock on the wall, not of Greenwich', () => {
    expect(dateOf(new Date(2026, 0, 5, 0, 10).toISOString())).toBe('2026-01-05')
    expect(dateOf(new Date(2026, 0, 5, 23, 50).toISOString())).toBe('2026-01-05')
  })
})
