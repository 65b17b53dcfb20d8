import { describe, expect, it } from 'vitest'
import { addTags, dropTag, sharedTags, TAG_CHARS, TAGS_MOST } from './tags'

describe('tags', () => {
  it('are split at commas of both scripts, trimmed, and each is there once', () => {
    expect(addTags(['Sales'], ' sales, 报告，#urgent 、＃ 周报 ,,')).toEqual(['Sales', '报告', 'urgent', '周报'])
  })

  it('are cut to their length and number', () => {
    expect(addTags([], 'x'.repeat(60))).toEqual(['x'.repeat(TAG_CHARS)])
    expect(addTags([], Array.from({ length: 30 }, (_, n) => `t${n}`).join(','))).toHaveLength(TAGS_MOST)
  })

  it('are taken away whatever their case', () => {
    expect(dropTag(['Sales', 'b'], 'sales')).toEqual(['b'])
  })

  it('that several conversations share are found', () => {
    expect(sharedTags([['A', 'b', 'c'], ['a', 'C'], ['c', 'A']])).toEqual(['A', 'c'])
    expect(sharedTags([])).toEqual([])
  })
})
