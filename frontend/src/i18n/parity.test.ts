import { describe, expect, it } from 'vitest'

/** Keys that code asks for with a part computed at run time: t(`shell.theme_${theme}`). */
const sources = import.meta.glob<string>(['/src/**/*.{ts,vue}', '!/src/**/*.test.ts'], { eager: true, query: '?raw', import: 'default' })
const code = Object.values(sources).join('\n')

function flatten(tree: object, prefix = ''): Map<string, string> {
  const found = new Map<string, string>()
  for (const [key, value] of Object.entries(tree)) {
    const path = prefix ? `${prefix}.${key}` : key
    if (typeof value === 'string') found.set(path, value)
    else flatten(value as object, path).forEach((text, inner) => found.set(inner, text))
  }
  return found
}
const placeholders = (text: string) => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort().join()

const load = (files: Record<string, object>) => Object.fromEntries(Object.entries(files).map(([path, tree]) => [path.split('/').at(-1)!.slice(0, -5), tree]))
const english = flatten(load(import.meta.glob<object>('./en/**/*.json', { eager: true, import: 'default' })))
const chinese = flatten(load(import.meta.glob<object>('./zh-CN/**/*.json', { eager: true, import: 'default' })))

describe('the two languages', () => {
  it('have the same keys', () => {
    expect([...chinese.keys()].sort()).toEqual([...english.keys()].sort())
  })

  it('have the same placeholders in each message', () => {
    const different = [...english].filter(([key, text]) => placeholders(text) !== placeholders(chinese.get(key) ?? ''))
    expect(different.map(([key]) => key)).toEqual([])
  })

  it('hold every key that the code asks for', () => {
    const asked = [...code.matchAll(/(?:\bt\(|keypath=")\s*'?([a-zA-Z]\w*(?:\.\w+)+)['"]/g)].map((match) => match[1]!)
    expect([...new Set(asked)].filter((key) => !english.has(key))).toEqual([])
    expect(asked.length).toBeGreaterThan(20)
  })

  it('hold no key that nothing asks for', { timeout: 60_000 }, () => {
    const prefixes = [...code.matchAll(/`([a-zA-Z]\w*\.[\w.]*)\$\{/g)].map((match) => match[1]!)
    const used = (key: string) => code.includes(`'${key}'`) || code.includes(`"${key}"`) || prefixes.some((prefix) => key.startsWith(prefix))
    expect([...english.keys()].filter((key) => !used(key))).toEqual([])
  })
})
