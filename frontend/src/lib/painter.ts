/** Decides when to paint a growing text: at most every 80 ms, and never so often that painting takes over. */

export const LEAST_GAP_MS = 80
export const MOST_GAP_MS = 500
const COST_FACTOR = 5

export interface Clock {
  now: () => number
  later: (run: () => void, ms: number) => unknown
  frame: (run: () => void) => unknown
}

const browser: Clock = { now: () => performance.now(), later: (run, ms) => setTimeout(run, ms), frame: (run) => (document.hidden ? setTimeout(run, 0) : requestAnimationFrame(run)) }

/** `paint` shows what there is and gives a promise of when that is done. Call `soon` on every change. */
export function createPainter(paint: () => Promise<unknown>, clock: Clock = browser) {
  let waiting = false
  let paintedAt = -Infinity
  let gap = LEAST_GAP_MS

  async function run(): Promise<void> {
    waiting = false
    const start = clock.now()
    paintedAt = start
    await paint()
    gap = Math.min(MOST_GAP_MS, Math.max(LEAST_GAP_MS, (clock.now() - start) * COST_FACTOR))
  }
  function soon(): void {
    if (waiting) return
    waiting = true
    const wait = Math.max(0, paintedAt + gap - clock.now())
    if (wait) clock.later(() => clock.frame(() => void run()), wait)
    else clock.frame(() => void run())
  }
  return { soon, now: run }
}
