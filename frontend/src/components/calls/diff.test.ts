import { expect, it } from 'vitest'
import { fromUnified } from './diff'

it('shows every line of a unified diff, also those that look like its head', () => {
  const rows = ['--- a/q.sql', '+++ b/q.sql', '@@ -1,3 +1,3 @@', ' select 1', '--- old note', '+++ counter', '-a', '\\ No newline at end of file', '+b', '@@ -9 +9 @@', '-- last']
  expect(fromUnified(rows.join('\n')).map((line) => line.sign + line.text)).toEqual([' select 1', '−-- old note', '+++ counter', '−a', '+b', '−- last'])
})
