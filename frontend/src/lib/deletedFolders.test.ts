import { describe, expect, it } from 'vitest'
import type { FileChange } from '@/api/types'
import { asDeleted, wholeOf } from './deletedFolders'

const gone = (id: string, path: string, folder: string | null, run_id: string | null = null) => ({ id, path, folder, run_id, user_id: 'u' }) as FileChange

describe('deleted folders', () => {
  it('are one entry each; files by themselves and folders of others stay apart', () => {
    const list = [gone('1', 'a/x', 'a'), gone('2', 'a/b/y', 'a'), gone('3', 'z', null), gone('4', 'q', null), gone('5', 'a/x', 'a', 'run')]
    expect(asDeleted(list).map((one) => [one.folder, one.changes.map((change) => change.id)])).toEqual([['a', ['1', '2']], [null, ['3']], [null, ['4']], ['a', ['5']]])
  })

  it('are put back whole, also what lies on the next pages', async () => {
    const pages = [[gone('1', 'a/x', 'a')], [gone('2', 'a/y', 'a')], [gone('3', 'a/z', 'a'), gone('4', 'b', null)], [gone('5', 'c', null)]]
    let loaded = 1
    const all = () => asDeleted(pages.slice(0, loaded).flat())
    const whole = await wholeOf(all()[0]!, { all, hasMore: () => loaded < pages.length, fetchMore: async () => (loaded += 1) })
    expect(whole.map((change) => change.id)).toEqual(['1', '2', '3'])
    expect(loaded).toBe(3)
  })

  it('do not ask for ever when a page cannot be had', async () => {
    const all = () => asDeleted([gone('1', 'a/x', 'a')])
    let asked = 0
    await wholeOf(all()[0]!, { all, hasMore: () => true, fetchMore: async () => (asked += 1) })
    expect(asked).toBe(1)
  })
})
