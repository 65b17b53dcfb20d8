import { beforeAll, describe, expect, it } from 'vitest'
import { i18n, setLocale } from '@/i18n'
import { makeCall } from '@/mocks/calls'
import { callSummary, type Words } from './callSummary'

const t: Words = (key, values, count) => (count === undefined ? i18n.global.t(key, values) : i18n.global.t(key, values, count))
const call = (name: string, args: object, data: unknown, more = {}) => makeCall(name, args, 0, { result: JSON.stringify({ success: true, data }), summary: 'the server’s line', ...more })

// Tool, arguments, result as the server gives it, the line in both languages.
const LINES: [string, object, object, string, string][] = [
  ['file_read', { path: 'a.py' }, { path: 'a.py', content: '…', offset: 1, lines: 20, total_lines: 80 }, 'a.py, lines 1–20 of 80', 'a.py，第 1–20 行，共 80 行'],
  ['file_read', { path: 'a.py' }, { path: 'a.py', content: '…', offset: 21, lines: 20, total_lines: null }, 'a.py, lines 21–40', 'a.py，第 21–40 行'],
  ['file_read', { path: 'a.py' }, { path: 'a.py', content: '', offset: 1, lines: 0, total_lines: 0 }, 'a.py, empty', 'a.py，空文件'],
  ['file_read', { path: 'a.png' }, { path: 'a.png', binary: true, size: 2000 }, 'a.png, 2 kB, no text', 'a.png，2 kB，不是文本'],
  ['file_write', { path: 'a.md' }, { path: 'a.md', bytes: 12, size: 12, created: true }, 'Created a.md (12 B)', '已新建 a.md（12 B）'],
  ['file_write', { path: 'a.md', mode: 'append' }, { path: 'a.md', bytes: 2000, size: 12, created: false }, 'Added to a.md (2 kB)', '已追加到 a.md（2 kB）'],
  ['file_write', { path: 'a.md' }, { path: 'a.md', bytes: 2000, size: 12, created: false }, 'Changed a.md (2 kB)', '已更新 a.md（2 kB）'],
  ['file_edit', { path: 'a.md' }, { path: 'a.md', replacements: 1 }, 'a.md, 1 place changed', 'a.md，更改 1 处'],
  ['file_edit', { path: 'a.md' }, { path: 'a.md', replacements: 3 }, 'a.md, 3 places changed', 'a.md，更改 3 处'],
  ['file_list', {}, { path: '.', items: [], count: 1, truncated: false }, '1 item in the project folder', '项目文件夹：1 项'],
  ['file_list', { path: 'src' }, { path: 'src', items: [], count: 200, truncated: true }, 'The first 200 items in src', 'src：前 200 项'],
  ['file_search', { query: 'def' }, { query: 'def', matches: [{}, {}] }, '2 lines with “def”', '2 行含有“def”'],
  ['file_move', { path: 'a', new_path: 'b' }, { path: 'a', new_path: 'b', type: 'file' }, 'a → b', 'a → b'],
  ['file_delete', { path: 'a' }, { path: 'a', type: 'file', files: 1 }, 'Deleted a', '已删除 a'],
  ['file_delete', { path: 'a' }, { path: 'a', type: 'dir', files: 1 }, 'Deleted a with 1 file', '已删除 a，含 1 个文件'],
  ['file_mkdir', { path: 'a' }, { path: 'a', created: true }, 'New folder a', '新文件夹 a'],
  ['file_mkdir', { path: 'a' }, { path: 'a', created: false }, 'The folder a was there already', '文件夹 a 原本就有'],
  ['file_exists', { path: 'a' }, { path: 'a', exists: false, type: null }, 'a is not there', 'a 不存在'],
  ['file_exists', { path: 'a' }, { path: 'a', exists: true, type: 'dir' }, 'a is there, a folder', 'a 存在，是文件夹'],
  ['fetch_page', { url: 'https://example.org/x' }, { title: 'An example', final_url: 'https://example.org/x' }, 'An example (example.org)', 'An example（example.org）'],
  ['fetch_page', { url: 'https://example.org/x' }, { links: [], final_url: 'https://example.org/x' }, 'example.org', 'example.org'],
  ['web_search', { query: 'vue' }, { query: 'vue', results: [{}] }, '1 result for “vue”', '“vue”的 1 条结果'],
  ['crawl_batch', { urls: [] }, { results: [{ success: true }, { success: false }], total: 2 }, '1 of 2 pages read', '读取了 1 个网页，共 2 个'],
  ['calculator', { expression: '1+1' }, { expression: '1+1', value: 2, text: '2' }, '1+1 = 2', '1+1 = 2'],
  ['text_process', { operation: 'upper' }, { operation: 'upper', result: 'ABC' }, 'Upper case: ABC', '转大写：ABC'],
  ['json_process', { operation: 'keys' }, { operation: 'keys', result: ['a', 'b'] }, 'Keys: ["a","b"]', '列出键：["a","b"]'],
  ['execute_python', { code: '…' }, { stdout: 'one\ntwo\n', error_type: null, value: null, files: [] }, 'one', 'one'],
  ['execute_python', { code: '…' }, { stdout: 'one', error_type: 'ZeroDivisionError' }, 'Ended with ZeroDivisionError', '以 ZeroDivisionError 结束'],
  ['execute_python', { code: '…' }, { stdout: '', error_type: null, value: null, files: [] }, 'No output', '没有输出'],
  ['get_weather', { city: 'Oslo' }, { city: 'Oslo', temperature_c: -3, conditions: 'light rain' }, 'Oslo: -3 °C, light rain (simulated)', 'Oslo：-3 °C，小雨（模拟）'],
  ['multi_agent', { tasks: [] }, { results: [{ success: true }], total: 1 }, '1 of 1 task done', '完成 1 项任务，共 1 项'],
]

describe.each(['en', 'zh-CN'] as const)('a call in one line, in %s', (locale) => {
  beforeAll(() => setLocale(locale))

  it.each(LINES)('%s %j', (name, args, data, english, chinese) => {
    expect(callSummary(call(name, args, data), t, locale)).toBe(locale === 'en' ? english : chinese)
  })
  it('is the server’s for tools of one’s own', () => {
    expect(callSummary(call('my_tool', {}, { path: 'x' }), t, locale)).toBe('the server’s line')
  })
  it('is told by the arguments, not in English, where the result was cut', () => {
    const cut = call('file_read', { path: 'long.txt' }, {}, { result: '{"success":true,"data":{"path":"long' })
    expect(callSummary(cut, t, locale)).toBe(locale === 'en' ? 'the server’s line' : 'long.txt')
  })
  it('never fails on a result of another shape', () => {
    for (const [name] of LINES) for (const data of [null, [], 'text', {}, { results: 'x', matches: 3, items: null }]) expect(typeof callSummary(call(name, {}, data), t, locale)).toBe('string')
  })
})
