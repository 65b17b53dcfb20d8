import { ref, watch } from 'vue'

export interface DiffLine {
  kind: 'add' | 'del' | 'same'
  sign: '+' | '−' | ' '
  text: string
}

const line = (kind: DiffLine['kind'], text: string): DiffLine => ({ kind, sign: kind === 'add' ? '+' : kind === 'del' ? '−' : ' ', text })
const linesOf = (text: string) => text.replace(/\n$/, '').split('\n')

export function fromUnified(text: string): DiffLine[] {
  // The two head rows stand before the first hunk; within one such a row is a line of the file.
  const rows = linesOf(text)
  const first = rows.findIndex((row) => row.startsWith('@@ '))
  return rows.slice(Math.max(0, first)).filter((row) => !/^@@ |^\\ /.test(row)).map((row) => line(row.startsWith('+') ? 'add' : row.startsWith('-') ? 'del' : 'same', row.replace(/^[+\- ]/, '')))
}

/** The lines of a comparison; the diff library is loaded when two texts are really compared. */
export function useDiff(source: () => readonly [string, string, string]) {
  const lines = ref<DiffLine[]>([])
  watch(
    source,
    async ([before, after, unified]) => {
      if (unified) lines.value = fromUnified(unified)
      else if (!before) lines.value = linesOf(after).map((text) => line('add', text))
      else {
        const { diffLines } = await import('diff')
        lines.value = diffLines(before, after).flatMap((part) => linesOf(part.value).map((text) => line(part.added ? 'add' : part.removed ? 'del' : 'same', text)))
      }
    },
    { immediate: true },
  )
  return lines
}
