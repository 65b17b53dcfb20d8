import { describe, expect, it } from 'vitest'
import { scriptOf } from './script'

describe('scriptOf', () => {
  it('tells the language by the share of its script', () => {
    expect(scriptOf('Write a report about 上海.')).toBe('en')
    expect(scriptOf('写一份关于 sales.csv 的报告')).toBe('zh')
    expect(scriptOf('売上レポートを書いてください')).toBe('ja')
    expect(scriptOf('보고서를 작성해 주세요')).toBe('ko')
  })

  it('says nothing where a script stands for many languages, or there are no words', () => {
    expect(scriptOf('Напиши отчёт')).toBeUndefined()
    expect(scriptOf('2 + 2 = 4')).toBeUndefined()
    expect(scriptOf('  ')).toBeUndefined()
  })
})
