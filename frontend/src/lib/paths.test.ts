import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deletionOf, wholeDeletion } from '@/composables/useFileActions'
import type { FileChange } from '@/api/types'
import { cleanPath, crumbsOf, folderOf, isInside, joinPath, nameOf } from './paths'
import { holdBack } from './holdBack'
import { curlOf } from './curl'

describe('paths', () => {
  it('come apart and together again', () => {
    fc.assert(fc.property(fc.array(fc.stringMatching(/^[a-z0-9 ._-]{1,8}$/), { minLength: 1, maxLength: 4 }), (parts) => {
      const path = parts.join('/')
      expect(joinPath(folderOf(path), nameOf(path))).toBe(path)
      expect(crumbsOf(path).at(-1)).toEqual({ name: parts.at(-1), path })
    }))
  })

  it.each([['a/b.txt', 'a/b.txt'], [' /a/ ', 'a'], ['今日/笔记.md', '今日/笔记.md'], ['', null], ['../a', null], ['a//b', null], ['a/./b', null], ['a\\b', null], ['a\u0000', null]])('%j is taken as %j', (text, path) => expect(cleanPath(text)).toBe(path))

  it('know what lies inside a folder', () => {
    expect(isInside('a/b', 'a')).toBe(true)
    expect(isInside('ab', 'a')).toBe(false)
  })
})

describe('taking a deletion back', () => {
  const change = (path: string, action: FileChange['action']) => ({ path, action }) as FileChange
  it('covers the folder and all that was in it, and nothing from before', () => {
    const changes = [change('z', 'write'), change('a', 'delete'), change('a/x', 'delete'), change('a/y', 'write'), change('a/w', 'delete')]
    expect(deletionOf(changes, 'a').map((item) => item.path)).toEqual(['a', 'a/x'])
    expect(deletionOf(changes, 'nothing')).toEqual([])
  })
  it('reads on until the deletion ends, and no further', async () => {
    const pages = [[change('a', 'delete'), change('a/x', 'delete')], [change('a/y', 'delete')], [change('b', 'write')], [change('a/w', 'delete')]]
    let read = 0
    const found = await wholeDeletion((cursor) => Promise.resolve({ items: pages[Number(cursor ?? 0)]!, next_cursor: String(++read) }), 'a')
    expect([found.map((item) => item.path), read]).toEqual([['a', 'a/x', 'a/y'], 3])
  })
})

describe('a list that someone reads', () => {
  const items = ['3', '2', '1'].map((id) => ({ id }))
  it('keeps new items back until they are asked for', () => {
    expect(holdBack(items, '2')).toEqual({ shown: [{ id: '2' }, { id: '1' }], waiting: 1 })
    expect(holdBack(items, null)).toEqual({ shown: items, waiting: 0 })
    expect(holdBack(items, 'gone').waiting).toBe(0)
  })
})

describe('a call as a command', () => {
  it('is safe to paste', () => {
    const text = curlOf('calculator', { expression: "it's $HOME" }, 'p1', 'http://h')
    expect(text).toContain(`-d '{"arguments":{"expression":"it'\\''s $HOME"},"project_id":"p1"}'`)
    expect(text).toContain("'http://h/api/tools/calculator/execute'")
  })
})
