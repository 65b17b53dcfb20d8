/** Reads delimited text (RFC 4180), at most `mostRows` rows; good enough for a preview. */
export function parseCsv(text: string, delimiter = ',', mostRows = 500): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  let cell = ''
  let quoted = false
  const endCell = () => {
    row.push(cell)
    cell = ''
  }
  const endRow = () => {
    endCell()
    rows.push(row)
    row = []
  }
  for (let at = 0; at < text.length && rows.length < mostRows; at += 1) {
    const character = text[at]!
    if (quoted) {
      if (character !== '"') cell += character
      else if (text[at + 1] === '"') cell += text[(at += 1)]!
      else quoted = false
    } else if (character === '"' && cell === '') quoted = true
    else if (character === delimiter) endCell()
    else if (character === '\n') endRow()
    else if (character !== '\r') cell += character
  }
  if (rows.length < mostRows && (cell || row.length)) endRow()
  return rows
}

export const toCsv = (rows: string[][]): string =>
  rows.map((row) => row.map((cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')).join('\n')
