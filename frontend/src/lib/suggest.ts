/** Which menu a text asks for at the cursor: `/` for commands, `@` for files. Full-width signs count too. */
export interface Trigger {
  kind: 'command' | 'file'
  /** Where the sign stands, and what was typed after it. */
  start: number
  query: string
}

export function triggerAt(text: string, cursor: number): Trigger | null {
  const before = text.slice(0, cursor)
  const command = /^[/／]([\w-]*)$/.exec(before)
  if (command) return { kind: 'command', start: 0, query: command[1]! }
  const file = /(?:^|\s)[@＠]([^\s@＠]*)$/.exec(before)
  if (file) return { kind: 'file', start: cursor - file[1]!.length - 1, query: file[1]! }
  return null
}

export function replaceTrigger(text: string, cursor: number, trigger: Trigger, insert: string): { text: string; cursor: number } {
  const head = text.slice(0, trigger.start) + insert
  return { text: head + text.slice(cursor), cursor: head.length }
}
