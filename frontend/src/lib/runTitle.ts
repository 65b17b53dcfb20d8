/** The beginning of a run's input, when it is a command: which tool, and with what. Pure. */
export interface CommandTitle {
  tool: string
  said: string
}

const COMMAND = /^[/／]([A-Za-z_]\w*)(?:\s+(.*))?$/s
const FIRST_TEXT = /"\w+":\s*"((?:[^"\\]|\\.)*)/

/** A list holds only the beginning of a title, so JSON may be cut off anywhere: its first text is what is told. */
export function commandOf(title: string): CommandTitle | null {
  const found = COMMAND.exec(title.trim())
  if (!found) return null
  const rest = (found[2] ?? '').trim()
  if (!rest.startsWith('{')) return { tool: found[1]!, said: rest }
  const text = FIRST_TEXT.exec(rest)?.[1] ?? ''
  return { tool: found[1]!, said: text.replaceAll('\\n', ' ').replaceAll('\\"', '"') }
}
