import type { Call } from '@/api/types'
import { callArguments, callLine, callResult } from './calls'
import { formatSize } from './format'

/** One line about a finished call of a built-in tool, in the reader's language. */

type Data = Record<string, unknown>
/** vue-i18n's `t`, and what it is told in: key, values and, for plurals, the count. */
export type Words = (key: string, values: Record<string, unknown>, count?: number) => string
interface Telling {
  data: Data
  args: Data
  say: (what: string, values?: Record<string, unknown>, count?: number) => string
  /** A word for a value from a fixed list of the server's: a sky, an operation. */
  word: (kind: 'sky' | 'op', value: string) => string
  size: (bytes: unknown) => string
  path: string
}

const LINE_CHARS = 120
const isData = (value: unknown): value is Data => value !== null && typeof value === 'object' && !Array.isArray(value)
const text = (value: unknown): string => (typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value))
const oneLine = (value: unknown): string => text(value).trim().replace(/\s+/g, ' ').slice(0, LINE_CHARS)
const firstLine = (value: unknown): string => text(value).trim().split('\n')[0]!.slice(0, LINE_CHARS)
const list = (value: unknown): Data[] => (Array.isArray(value) ? value.filter(isData) : [])
const successes = (value: unknown): number => list(value).filter((item) => item.success === true).length
function hostOf(url: unknown): string {
  try {
    return new URL(text(url)).host
  } catch {
    return oneLine(url)
  }
}

function read({ data, path, say, size }: Telling): string {
  if (data.binary) return say('file_read_binary', { path, size: size(data.size) })
  const lines = Number(data.lines)
  if (!Number.isFinite(lines)) return ''
  if (!lines) return say('file_read_empty', { path })
  const from = Number(data.offset ?? 1)
  const span = { path, from, to: from + lines - 1 }
  return typeof data.total_lines === 'number' ? say('file_read_of', { ...span, total: data.total_lines }) : say('file_read', span)
}
function wrote({ data, args, path, say, size }: Telling): string {
  const what = data.created ? 'created' : args.mode === 'append' ? 'appended' : 'changed'
  return say(`file_write_${what}`, { path, size: size(data.bytes ?? data.size) })
}
function deleted({ data, path, say }: Telling): string {
  const files = Number(data.files)
  return data.type === 'dir' && files > 0 ? say('file_delete_files', { path, n: files }, files) : say('file_delete', { path })
}
function ran({ data, say }: Telling): string {
  if (data.error_type) return say('python_error', { type: text(data.error_type) })
  const files = list(data.files).length
  return firstLine(data.stdout) || firstLine(data.value) || (files ? say('python_files', { n: files }, files) : say('python_nothing'))
}
function fetched({ data, args, say }: Telling): string {
  const host = hostOf(data.final_url ?? data.url ?? args.url)
  const title = oneLine(data.title)
  return title ? say('fetch_page', { title, host }) : host
}
function searched({ data, args, say }: Telling): string {
  const n = list(data.results).length
  return say('web_search', { n, query: oneLine(data.query ?? args.query) }, n)
}
function worked({ data, args, say, word }: Telling): string {
  const operation = text(data.operation ?? args.operation)
  return operation && say('operation', { operation: word('op', operation), result: oneLine(data.result) })
}
function listed({ data, path, say }: Telling): string {
  const n = Number(data.count ?? list(data.items).length)
  return data.truncated ? say('file_list_more', { n, path }) : say('file_list', { n, path }, n)
}
function done(key: string, { data, say }: Telling): string {
  // Not named n: the plural is that of the total.
  const finished = successes(data.results)
  const total = Number(data.total ?? list(data.results).length)
  return say(key, { done: finished, total }, total)
}

const TELL: Record<string, (telling: Telling) => string> = {
  file_read: read,
  file_write: wrote,
  file_delete: deleted,
  execute_python: ran,
  fetch_page: fetched,
  web_search: searched,
  text_process: worked,
  json_process: worked,
  file_list: listed,
  file_edit: ({ data, path, say }) => (typeof data.replacements === 'number' ? say('file_edit', { path, n: data.replacements }, data.replacements) : ''),
  file_search: ({ data, args, say }) => (Array.isArray(data.matches) ? say('file_search', { n: data.matches.length, query: oneLine(data.query ?? args.query) }, data.matches.length) : ''),
  file_move: ({ data, args, path, say }) => say('file_move', { path, to: text(data.new_path ?? args.new_path) }),
  file_mkdir: ({ data, path, say }) => say(data.created === false ? 'file_mkdir_old' : 'file_mkdir_new', { path }),
  file_exists: ({ data, path, say }) => say(data.exists ? (data.type === 'dir' ? 'file_exists_dir' : 'file_exists_file') : 'file_exists_no', { path }),
  crawl_batch: (telling) => done('crawl_batch', telling),
  multi_agent: (telling) => done('multi_agent', telling),
  calculator: ({ data, args, say }) => ('text' in data || 'value' in data ? say('calculator', { expression: oneLine(data.expression ?? args.expression), text: text(data.text ?? data.value) }) : ''),
  get_weather: ({ data, say, word }) => ('temperature_c' in data ? say('get_weather', { city: text(data.city), degrees: text(data.temperature_c), sky: word('sky', text(data.conditions)) }) : ''),
}

/** A call in one line: worded here for built-in tools, in the server's words for others and where the result is not at hand. */
export function callSummary(call: Call, t: Words, locale: string): string {
  const tell = TELL[call.function.name]
  const { data } = callResult(call)
  if (!tell) return callLine(call)
  // The server's own line is English: in another language the telling argument says as much without foreign words.
  const plain = () => callLine(locale === 'en' ? call : { ...call, summary: null })
  if (call.success !== true || !isData(data)) return plain()
  const args = callArguments(call)
  const place = text(data.path ?? args.path)
  const telling: Telling = {
    data, args,
    say: (what, values = {}, count) => t(`builtin.did_${what}`, values, count),
    word: (kind, value) => said(t, `builtin.${kind}_${value.replace(/ /g, '_')}`, value),
    size: (bytes) => formatSize(Number(bytes) || 0, locale),
    path: place === '.' || (!place && call.function.name === 'file_list') ? t('builtin.projectFolder', {}) : place,
  }
  return tell(telling) || plain()
}

/** A message, or `otherwise` where there is none: a missing key is answered with itself. */
function said(t: Words, key: string, otherwise: string): string {
  const words = t(key, {})
  return words === key ? otherwise : words
}
