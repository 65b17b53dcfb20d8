import { describe, expect, it } from 'vitest'
import { inTurns } from './inTurns'

describe('inTurns', () => {
  it('does all but what fails, and tells both in the given order', async () => {
    const { done, failures } = await inTurns([1, 2, 3, 4, 5, 6], async (n) => {
      await new Promise((resolve) => setTimeout(resolve, 7 - n))
      if (n % 3 === 0) throw new Error(`no ${n}`)
    })
    expect(done).toEqual([1, 2, 4, 5])
    expect(failures.map(String).sort()).toEqual(['Error: no 3', 'Error: no 6'])
  })

  it('has at most four under way', async () => {
    let now = 0
    let most = 0
    await inTurns(Array.from({ length: 20 }, (_, n) => n), async () => {
      most = Math.max(most, (now += 1))
      await Promise.resolve()
      now -= 1
    })
    expect(most).toBe(4)
  })
})
