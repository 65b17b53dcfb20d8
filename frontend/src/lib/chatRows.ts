import type { Message } from '@/api/types'

/** A message that is on its way to the server, or did not get there. */
export interface Pending {
  clientId: string
  content: string
  attachments: string[]
  /** Undefined continues the active branch; a value makes a branch after that message. */
  parentId?: string | null
  error: unknown
}

export type Row =
  | { kind: 'day'; key: string; at: string }
  | { kind: 'message'; key: string; message: Message; place: number }
  | { kind: 'pending'; key: string; pending: Pending }
  | { kind: 'live'; key: string }

const dayOf = (iso: string) => new Date(iso).toDateString()

/** Stored messages and those the run has just completed, each once. */
export function mergeMessages(stored: Message[], completed: Message[]): Message[] {
  const known = new Set(stored.map((message) => message.id))
  const last = stored.at(-1)
  const fresh = completed.filter((message) => !known.has(message.id))
  // A run of another branch (its messages do not continue what is shown) stays out.
  const continues = !fresh.length || !last || fresh[0]!.parent_id === last.id || completed.some((message) => known.has(message.id)) || known.has(fresh[0]!.parent_id ?? '')
  return continues ? [...stored, ...fresh] : stored
}

/** The key of a run's answers by their number: the same while one is written and once it is stored, so that its row stays. */
const answerKey = (runId: string, number: number) => `${runId}:${number}`

/** What the list shows, in order: days, messages, the answer that the run `live` writes, messages on their way. */
export function chatRows(messages: Message[], pending: Pending[], live: string | null): Row[] {
  const rows: Row[] = []
  const branch = pending.find((item) => item.parentId !== undefined)
  const cut = branch ? messages.findIndex((message) => message.id === branch.parentId) + 1 : messages.length
  const answers = new Map<string, number>()
  let day = ''
  messages.slice(0, cut).forEach((message, index) => {
    if (dayOf(message.created_at) !== day) {
      day = dayOf(message.created_at)
      rows.push({ kind: 'day', key: `day:${day}:${message.id}`, at: message.created_at })
    }
    const run = message.role === 'assistant' ? message.run_id : null
    if (run) answers.set(run, (answers.get(run) ?? 0) + 1)
    rows.push({ kind: 'message', key: run ? answerKey(run, answers.get(run)!) : message.id, message, place: index + 1 })
  })
  rows.push(...pending.filter((item) => !live || item.parentId !== undefined || item.error).map((item): Row => ({ kind: 'pending', key: item.clientId, pending: item })))
  if (live && !branch) rows.push({ kind: 'live', key: answerKey(live, (answers.get(live) ?? 0) + 1) })
  return rows
}
