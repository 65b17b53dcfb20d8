// Runs before the page: records frames, long tasks and keys from `probe.start()` on, and when something is on screen.
window.probe = {
  frames: [], long: [], keys: [], lastShown: 0, on: false,
  start() {
    this.frames = []; this.long = []; this.keys = []; this.lastShown = 0; this.on = true
    const frame = at => { this.frames.push(at); if (this.on) requestAnimationFrame(frame) }
    requestAnimationFrame(frame)
  },
  stop() {
    this.on = false
    const { frames, long, keys, lastShown } = this
    return { frames, long, keys, lastShown }
  },
  // The time in ms until `test` is true and one idle moment has passed.
  shown(test) {
    return new Promise(done => {
      const look = () => (test() ? requestIdleCallback(() => done(performance.now())) : requestAnimationFrame(look))
      look()
    })
  },
}
new PerformanceObserver(list => list.getEntries().forEach(entry => window.probe.on && window.probe.long.push(entry.duration))).observe({ type: 'longtask' })
addEventListener('keydown', event => {
  if (!window.probe.on) return
  // The first task after the next frame: what the key changed has been painted.
  requestAnimationFrame(() => { const { port1, port2 } = new MessageChannel(); port1.onmessage = () => window.probe.keys.push(performance.now() - event.timeStamp); port2.postMessage(0) })
}, true)
window.watchFor = text => {
  const log = document.querySelector('[role=log]')
  const observer = new MutationObserver(() => {
    if (!log.lastElementChild.textContent.slice(-400).includes(text) && !log.textContent.includes(text)) return
    observer.disconnect()
    requestAnimationFrame(() => { window.probe.lastShown = Date.now() })
  })
  observer.observe(log, { subtree: true, childList: true, characterData: true })
}
