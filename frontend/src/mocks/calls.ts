import type { Call, CallStatus } from '@/api/types'
import { newId, now } from './ids'

/** Results of the mocked tools, as the real ones shape them. */
const RESULTS: Record<string, (args: Record<string, unknown>) => [unknown, string]> = {
  web_search: (a) => [{ query: a.query, results: [
    { title: 'Monthly sales statistics – open data', url: 'https://data.example.org/sales', snippet: 'Retail turnover by month and region, 2015 to 2026.' },
    { title: 'How to read seasonal figures', url: 'https://stats.example.net/guide/seasonal', snippet: 'Trend, season and rest: what each part says.' },
    { title: 'Retail turnover – overview', url: 'https://en.example.com/wiki/Retail_turnover', snippet: 'Retail turnover is the sum of all sales…' },
  ] }, `3 results for “${String(a.query)}”`],
  fetch_page: (a) => [{ url: a.url, title: 'How to read seasonal figures', text: 'Trend, season and rest.\n\nA series of monthly figures has three parts. The trend says where it goes, the season repeats each year, and the rest is what neither explains.' }, 'How to read seasonal figures, 412 words'],
  crawl_batch: () => [{ results: [
    { url: 'https://data.example.org/sales', success: true, title: 'Monthly sales', text: 'Region North: 1.2 M' },
    { url: 'https://data.example.org/missing', success: false, error: 'HTTP 404' },
  ] }, '1 of 2 pages fetched'],
  calculator: (a) => [{ expression: a.expression, result: '2568.02' }, `${String(a.expression)} = 2568.02`],
  text_process: () => [{ characters: 1204, words: 203, lines: 18 }, '203 words, 18 lines'],
  json_process: () => [{ valid: true, result: { region: 'North', total: 1204.5 } }, 'valid JSON'],
  execute_python: () => [{ stdout: 'rows: 2400\nNorth    48210.50\nSouth    39120.00\n', stderr: '', value: '87330.5', error_type: null, error: null, truncated: false, limit: null, wall_seconds: 0.41, cpu_seconds: 0.38, peak_memory_mb: 41, files: [], walls: { process: 'on', rlimits: 'on', seccomp: 'on', landlock: 'on' } }, 'ran in 0.4 s'],
  file_read: (a) => [{ path: a.path, content: 'month,region,amount\n2026-01,North,1204.50\n2026-01,South,988.00\n2026-02,North,1310.25\n', total_lines: 2401, encoding: 'utf-8' }, `Read ${String(a.path)}, 120 lines`],
  file_write: (a) => [{ path: a.path, bytes: String(a.content ?? '').length, created: true }, `Wrote ${String(a.path)}`],
  file_list: () => [{ items: [{ path: 'data/sales.csv', type: 'file', size: 48211 }, { path: 'report.md', type: 'file', size: 912 }] }, '2 entries'],
  file_delete: (a) => [{ path: a.path }, `Deleted ${String(a.path)}`],
  file_exists: (a) => [{ path: a.path, exists: true }, `${String(a.path)} exists`],
  file_mkdir: (a) => [{ path: a.path }, `Made ${String(a.path)}`],
  get_weather: (a) => [{ city: a.city ?? 'Paris', temperature_c: 17, conditions: 'partly cloudy', humidity_percent: 62, wind_kmh: 14, simulated: true }, '17 °C, partly cloudy (simulated)'],
  multi_agent: () => [{ success: true, total: 3, results: [
    { task_name: 'North', success: true, response: 'North grew by 12 % against last year.' },
    { task_name: 'South', success: true, response: 'South fell by 3 %, mostly in March.' },
    { task_name: 'West', success: false, error: 'The model gave no answer.' },
  ] }, '3 agents, 1 failed'],
}

export function makeCall(name: string, args: object, step: number, more: Partial<Call> = {}): Call {
  const [data, summary] = RESULTS[name]?.(args as Record<string, unknown>) ?? [{}, name]
  const id = newId('call')
  const result = JSON.stringify({ success: true, data })
  return {
    id, type: 'function', function: { name, arguments: JSON.stringify(args) }, result, success: true, skipped: false, execution_time: 0.42, status: 'success',
    cached: false, duplicate_of: null, cached_at: null, expires_at: null, attempts: 1, degraded: null, summary, queued_ms: 0, result_truncated: false, result_size: result.length,
    provider_id: id, step, started_at: now(), finished_at: now(), ...more,
  }
}

export function failedCall(name: string, args: object, step: number, status: CallStatus, code: string, error: string, retryable: boolean): Call {
  const result = JSON.stringify({ success: false, tool: name, status, code, error, retryable, suggestion: 'Check the address, or try another page.' })
  return makeCall(name, args, step, { status, success: false, result, summary: error })
}
