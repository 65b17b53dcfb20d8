// Holds the bundle budgets: first load and every lazy chunk, gzip sizes of dist/.
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const KB = 1000
const LIMITS = { js: 200 * KB, css: 40 * KB, lazy: 250 * KB }
const dist = new URL('../dist/', import.meta.url)
const manifest = JSON.parse(readFileSync(new URL('.vite/manifest.json', dist), 'utf8'))
const size = (file) => gzipSync(readFileSync(new URL(file, dist))).length

function closure(keys) {
  const seen = new Set()
  const walk = (key) => {
    if (seen.has(key)) return
    seen.add(key)
    for (const next of manifest[key].imports ?? []) walk(next)
  }
  keys.forEach(walk)
  return [...seen].map((key) => manifest[key])
}

// The first load is measured at its worst: the conversation page with one language.
const entry = Object.keys(manifest).find((key) => manifest[key].isEntry)
const firstPages = ['src/views/ConversationView.vue', 'src/i18n/zh-CN/index.ts'].filter((key) => manifest[key])
const first = closure([entry, ...firstPages])
const js = new Set(first.map((chunk) => chunk.file))
const css = new Set(first.flatMap((chunk) => chunk.css ?? []))
const sum = (files) => [...files].reduce((total, file) => total + size(file), 0)

const failures = []
function check(name, actual, limit) {
  const line = `${name}: ${(actual / KB).toFixed(1)} kB gz of ${limit / KB} kB`
  console.log(line)
  if (actual > limit) failures.push(line)
}
check('first load JS', sum(js), LIMITS.js)
check('first load CSS', sum(css), LIMITS.css)
for (const chunk of Object.values(manifest)) {
  if (!js.has(chunk.file) && chunk.file.endsWith('.js')) {
    const bytes = size(chunk.file)
    if (bytes > LIMITS.lazy) check(`lazy ${chunk.file}`, bytes, LIMITS.lazy)
  }
}
if (failures.length) {
  console.error(`Over budget:\n${failures.join('\n')}`)
  process.exit(1)
}
