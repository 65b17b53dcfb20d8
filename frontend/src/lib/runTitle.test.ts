import { describe, expect, it } from 'vitest'
import { commandOf } from './runTitle'

describe('the title of a run that is a command', () => {
  it.each([
    ['/calculator 15% of 240', { tool: 'calculator', said: '15% of 240' }],
    ['／calculator 2+2', { tool: 'calculator', said: '2+2' }],
    ['/file_read {"path": "notes/a \\"b\\".md", "limit": 5}', { tool: 'file_read', said: 'notes/a "b".md' }],
    ['/execute_python {"code": "import math\\nprint(mat', { tool: 'execute_python', said: 'import math print(mat' }],
    ['/file_list {}', { tool: 'file_list', said: '' }],
    ['/help', { tool: 'help', said: '' }],
    ['Count the words', null],
    ['/etc/hosts is a file', null],
    ['/', null],
  ])('%s', (title, told) => expect(commandOf(title)).toEqual(told))
})
