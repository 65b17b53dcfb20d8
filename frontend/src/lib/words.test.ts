import { describe, expect, it } from 'vitest'
import { countWords } from './words'

describe('countWords', () => {
  it('counts words, not what stands between blanks', () => {
    expect(countWords('The report, in short, is done.', 'en')).toBe(6)
    expect(countWords('', 'en')).toBe(0)
    expect(countWords('报告已经写好了', 'zh-CN')).toBeGreaterThan(2)
  })
})
