import { describe, expect, it } from 'vitest'
import { findRanges } from './markText'

function element(html: string): HTMLElement {
  const root = document.createElement('div')
  root.innerHTML = html
  return root
}
const found = (html: string, wanted: string) => findRanges(element(html), wanted).map(String)

describe('findRanges', () => {
  it('finds words whatever their case, each time they stand there', () => {
    expect(found('<p>Sales and sales, 上海 too</p>', 'sales')).toEqual(['Sales', 'sales'])
    expect(found('<p>去上海，再回上海</p>', '上海')).toEqual(['上海', '上海'])
  })

  it('finds a phrase that runs over inline marks', () => {
    expect(found('<p>Write a <strong>short</strong> report.</p>', 'a short rep')).toEqual(['a short rep'])
  })

  it('finds nothing where there is nothing to find', () => {
    expect(found('<p>text</p>', '')).toEqual([])
    expect(found('', 'x')).toEqual([])
  })
})
