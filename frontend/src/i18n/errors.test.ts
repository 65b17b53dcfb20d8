import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import chinese from './zh-CN/errors.json'
import english from './en/errors.json'

// Vitest runs in frontend/.
const read = (path: string) => readFileSync(`../${path}`, 'utf8')
const unworded = (codes: string[]) => codes.filter((code) => !(code in english) || !(code in chinese))

describe('the errors of the server', () => {
  it('are all worded that the description of its interface lists', () => {
    const chapter = read('docs/api.md').split('\n## Errors\n')[1]!.split('\n## ')[0]!
    const rows = chapter.split('\n').filter((line) => line.startsWith('| `')).map((line) => line.split('|')[1]!)
    const below = chapter.split("A tool's failure is no HTTP error")[1]!.replace('`code`, `error`, `retryable` and `suggestion`', '').replace("A run's `error`", '')
    const codes = [...`${rows.join(' ')} ${below}`.matchAll(/`([a-z_]+)`/g)].map((match) => match[1]!)
    expect(codes.length).toBeGreaterThan(35)
    expect(unworded(codes)).toEqual([])
  })

  it('are all worded that its own tree of errors has', () => {
    const codes = [...read('backend/errors.py').matchAll(/^ {4}code(?:: ClassVar\[str\])? = "([a-z_]+)"/gm)].map((match) => match[1]!)
    expect(codes.length).toBeGreaterThan(30)
    expect(unworded(codes)).toEqual([])
  })

  it('are said in Chinese in the Chinese file', () => {
    expect(Object.values(chinese).filter((text) => !/\p{Script=Han}|^\{/u.test(text))).toEqual([])
  })
})
