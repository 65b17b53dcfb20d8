import { describe, expect, it } from 'vitest'
import { loadPageMessages, setLocale, t } from '.'

describe('compiled messages', () => {
  it('are said in both languages, with and without placeholders', async () => {
    await setLocale('en')
    await loadPageMessages()
    expect(t('common.close')).toBe('Close')
    expect(t('calls.group', { n: 3, time: '2s' })).toBe('3 tool calls, 2s')
    expect(t('home.task3Text')).toContain('all(n % d for d in range(2, n))')
    await setLocale('zh-CN')
    expect(t('common.close')).toBe('关闭')
    expect(t('calls.group', { n: 3, time: '2s' })).toBe('3 次工具调用，2s')
    expect(document.documentElement.lang).toBe('zh-CN')
  })
})
