import { describe, expect, it } from 'vitest'
import type { Message } from '@/api/types'
import { chatRows, mergeMessages, type Pending } from './chatRows'
import { replaceTrigger, triggerAt } from './suggest'
import { estimateTokens } from './tokens'
import { parseCsv, toCsv } from './csv'

const message = (id: string, parent: string | null, at = '2026-05-01T10:00:00Z') => ({ id, parent_id: parent, created_at: at, role: 'user' }) as Message
const pending = (more: Partial<Pending> = {}): Pending => ({ clientId: 'x', content: 'hi', attachments: [], error: null, ...more })

describe('what the cursor asks for', () => {
  it('is a command only at the very start, with either slash', () => {
    expect(triggerAt('/calc', 5)).toEqual({ kind: 'command', start: 0, query: 'calc' })
    expect(triggerAt('／', 1)).toEqual({ kind: 'command', start: 0, query: '' })
    expect(triggerAt('see /calc', 9)).toBeNull()
    expect(triggerAt('/calc 1+1', 9)).toBeNull()
  })

  it('is a file after a blank, with either sign, but not inside an address', () => {
    expect(triggerAt('look at @data/s', 15)).toEqual({ kind: 'file', start: 8, query: 'data/s' })
    expect(triggerAt('看 ＠报', 4)).toEqual({ kind: 'file', start: 2, query: '报' })
    expect(triggerAt('me@example', 10)).toBeNull()
  })

  it('is replaced by what was chosen', () => {
    const trigger = triggerAt('look at @da now', 11)!
    expect(replaceTrigger('look at @da now', 11, trigger, '@data.csv')).toEqual({ text: 'look at @data.csv now', cursor: 17 })
  })
})

describe('rows of a conversation', () => {
  it('have a line for each new day', () => {
    const rows = chatRows([message('a', null), message('b', 'a'), message('c', 'b', '2026-05-03T10:00:00Z')], [], null)
    expect(rows.map((row) => row.kind)).toEqual(['day', 'message', 'message', 'day', 'message'])
  })

  it('end at the branching point while an edited message is on its way', () => {
    const rows = chatRows([message('a', null), message('b', 'a'), message('c', 'b')], [pending({ parentId: 'a' })], null)
    expect(rows.map((row) => row.key).slice(1)).toEqual(['a', 'x'])
    expect(chatRows([message('a', null)], [pending({ parentId: null })], null).map((row) => row.kind)).toEqual(['pending'])
  })

  it('keep the row of an answer when it is complete: its key is that of its run and its number there', () => {
    const answer = (id: string, parent: string) => ({ ...message(id, parent), role: 'assistant', run_id: 'r' }) as Message
    const keys = (messages: Message[], live: string | null) => chatRows(messages, [], live).map((row) => row.key).slice(1)
    expect(keys([message('a', null)], 'r')).toEqual(['a', 'r:1'])
    expect(keys([message('a', null), answer('b', 'a')], null)).toEqual(['a', 'r:1'])
    expect(keys([message('a', null), answer('b', 'a'), message('c', 'b')], 'r')).toEqual(['a', 'r:1', 'c', 'r:2'])
  })

  it('show each message once, stored or just completed', () => {
    const stored = [message('a', null), message('b', 'a')]
    expect(mergeMessages(stored, [message('b', 'a'), message('c', 'b')]).map((item) => item.id)).toEqual(['a', 'b', 'c'])
    expect(mergeMessages(stored, [message('z', 'other')]).map((item) => item.id)).toEqual(['a', 'b'])
  })
})

describe('small tools', () => {
  it('estimate tokens in both scripts', () => {
    expect(estimateTokens('')).toBe(0)
    expect(estimateTokens('internationalization 12345')).toBe(4 + 2)
    expect(estimateTokens('你好世界')).toBe(3)
  })

  it('read what they write as CSV', () => {
    const rows = [['a', 'b, c'], ['say "hi"', 'line\nbreak'], ['', 'z']]
    expect(parseCsv(toCsv(rows))).toEqual(rows)
  })
})
