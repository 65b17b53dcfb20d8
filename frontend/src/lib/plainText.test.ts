import { expect, test } from 'vitest'
import { plainLine, plainText } from './plainText'

test('marks go, words and code stay', () => {
  expect(plainText('# Sums\n\n> **Two** and `three`, see [four](https://x.test)')).toBe('Sums\n\nTwo and three, see four')
  expect(plainText('```py\na = "**b**"\n```')).toBe('a = "**b**"')
})

test('a line that was a text of many lines reads as words', () => {
  expect(plainLine('I wrote **report.md**. In short: - **Lisbon** sold most - 3 - 1 is 2 ```python share = 1')).toBe(
    'I wrote report.md. In short: - Lisbon sold most - 3 - 1 is 2 share = 1',
  )
  expect(plainLine('## 现在的问题 1. **入口太多**')).toBe('现在的问题 1. 入口太多')
})
