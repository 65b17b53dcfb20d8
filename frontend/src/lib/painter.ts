/** Decides when to paint a growing text: at most every 80 ms, and never so often that painting takes over. */

export const LEAST_GAP_MS = 80
export const MOST_GAP_MS = 500
const COST_FACTOR = 5

export interface Clock {
  now: () => number
  later: (run: () => void, ms: number) => unknown
  frame: (run: () => void) => unknown
  /** Once what was changed is on the screen: style, layout and paint cost as much as making the elements. */
  shown: () => Promise<void>
}

function afterFrame(): Promise<void> {
  const { port1, port2 } = new MessageChannel()
  return new Promise((resolve) => {
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(null)
  })
}
const browser: Clock = { now: () => performance.now(), later: (run, ms) => setTimeout(run, ms), frame: (run) => (document.hidden ? setTimeout(run, 0) : requestAnimationFrame(run)), shown: afterFrame }

/** `paint` shows what there is and gives a promise of when that is done. Call `soon` on every change. */
export function createPainter(paint: () => Promise<unknown>, clock: Clock = browser) {
  let waiting: object | null = null
  let paintedAt = -Infinity
  let gap = LEAST_GAP_MS

  /** Whatever waits for its turn need not come any more. */
  async function now(): Promise<void> {
    waiting = null
    const start = clock.now()
    paintedAt = start
    await paint()
    await clock.shown()
    gap = Math.min(MOST_GAP_MS, Math.max(LEAST_GAP_MS, (clock.now() - start) * COST_FACTOR))
  }
  function soon(): void {
    if (waiting) return
    const turn = (waiting = {})
    const run = () => turn === waiting && void now()
    const wait = Math.max(0, paintedAt + gap - clock.now())
    if (wait) clock.later(() => clock.frame(run), wait)
    else clock.frame(run)
  }
  return { soon, now }
}
