import { api, send, urlOf } from './client'
import type { Call, CancelReceipt, Limits, Message, Page, Run, RunDiff, Step, Undone } from './types'

export interface RunFilter {
  project_id?: string
  conversation_id?: string
  status?: string
  kind?: string
  parent_run_id?: string
  cursor?: string
  limit?: number
}

export const listRuns = (filter: RunFilter) => api.get<Page<Run>>('/api/runs', { ...filter })
export const getRun = (id: string) => api.get<Run>(`/api/runs/${id}`)
const FIRST_STEPS = 20
const MORE_STEPS = 200
export const listSteps = (id: string, cursor?: string, limit = MORE_STEPS) => api.get<Page<Step>>(`/api/runs/${id}/steps`, { limit, cursor })
/** Every step of a run, page after page; the first page is short, and `onFirst` may show it while the rest is on its way. */
export async function allSteps(id: string, onFirst?: (steps: Step[]) => void): Promise<Step[]> {
  const steps: Step[] = []
  let cursor: string | undefined
  do {
    const page = await listSteps(id, cursor, cursor ? MORE_STEPS : FIRST_STEPS)
    steps.push(...page.items)
    if (!cursor && page.next_cursor) onFirst?.([...steps])
    cursor = page.next_cursor ?? undefined
  } while (cursor)
  return steps
}
export const cancelRun = (id: string) => api.post<CancelReceipt>(`/api/runs/${id}/cancel`)
export const runEventsUrl = (id: string) => `/api/runs/${id}/events`
export const callResultUrl = (runId: string, callId: string) =>
  urlOf(`/api/runs/${runId}/calls/${encodeURIComponent(callId)}/result`)
/** The whole result text of a call whose stored view was cut. */
export const getCallResult = async (runId: string, callId: string) => (await send('GET', callResultUrl(runId, callId))).text()
/** A person says what became of a call whose outcome is unknown. */
export const resolveCall = (runId: string, callId: string, outcome: 'done' | 'not_done') =>
  api.post<Call>(`/api/runs/${runId}/calls/${encodeURIComponent(callId)}/resolve`, { outcome })
/** A new run that takes up the work of one that reached a limit, was stopped or failed. */
export const continueRun = (runId: string, limits?: Partial<Limits>) => api.post<{ message: Message | null; run: Run }>(`/api/runs/${runId}/continue`, limits ? { limits } : {})
/** What a run did to files, each path once. */
export const listDiffs = (runId: string) => api.get<{ items: RunDiff[] }>(`/api/runs/${runId}/changes`)
export const undoRun = (runId: string, paths?: string[]) => api.post<Undone>(`/api/runs/${runId}/undo`, paths ? { paths } : {})

/** Something that the executor put into a call; the model never saw it. `value` is null for what cannot be shown. */
export interface Injected {
  key: string
  argument: string
  value: unknown
  name: string | null
}
export const getCallContext = (runId: string, callId: string) => api.get<Page<Injected>>(`/api/runs/${runId}/calls/${encodeURIComponent(callId)}/context`)
