import { describe, expect, it } from 'vitest'
import { createPainter, type Clock } from './painter'

/** A clock that only moves when told to; frames come every 16 ms. */
function fakeClock() {
  let now = 0
  const due: { at: number; run: () => void }[] = []
  const later = (run: () => void, ms: number) => due.push({ at: now + ms, run })
  const clock: Clock = { now: () => now, later, frame: (run) => later(run, 16), shown: () => Promise.resolve() }
  async function advance(ms: number): Promise<void> {
    const end = now + ms
    for (;;) {
      due.sort((a, b) => a.at - b.at)
      if (!due.length || due[0]!.at > end) break
      const next = due.shift()!
      now = Math.max(now, next.at)
      next.run()
      for (let turn = 0; turn < 4; turn += 1) await Promise.resolve()
    }
    now = end
  }
  return { clock, advance, spend: (ms: number) => (now += ms) }
}

describe('painting a growing text', () => {
  it('shows the first change on the next frame, then at most every 80 ms', async () => {
    const { clock, advance } = fakeClock()
    const times: number[] = []
    const painter = createPainter(async () => void times.push(clock.now()), clock)
    for (let step = 0; step < 40; step += 1) {
      painter.soon()
      await advance(10)
    }
    expect(times[0]).toBe(16)
    const gaps = times.slice(1).map((time, index) => time - times[index]!)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(80)
    expect(times.length).toBeGreaterThan(3)
  })

  it('paints less often when painting is slow, and never waits longer than half a second', async () => {
    const { clock, advance, spend } = fakeClock()
    const starts: number[] = []
    let cost = 40
    const painter = createPainter(async () => {
      starts.push(clock.now())
      spend(cost)
    }, clock)
    painter.soon()
    await advance(20)
    painter.soon()
    await advance(400)
    expect(starts[1]! - starts[0]!).toBeGreaterThanOrEqual(200)
    cost = 400
    painter.soon()
    await advance(1_000)
    painter.soon()
    await advance(1_000)
    expect(starts.at(-1)! - starts.at(-2)!).toBeLessThanOrEqual(1_000)
  })

  it('paints at once when told so, and not again for what it has shown', async () => {
    const { clock, advance } = fakeClock()
    const times: number[] = []
    const painter = createPainter(async () => void times.push(clock.now()), clock)
    painter.soon()
    await advance(20)
    painter.soon()
    await advance(10)
    await painter.now()
    await advance(500)
    expect(times).toEqual([16, 30])
  })
})
