import { api, send, urlOf } from './client'
import type { CancelReceipt, Page, Run, Step } from './types'

export interface RunFilter {
  project_id?: string
  conversation_id?: string
  status?: string
  kind?: string
  cursor?: string
  limit?: number
}

export const listRuns = (filter: RunFilter) => api.get<Page<Run>>('/api/runs', { ...filter })
export const getRun = (id: string) => api.get<Run>(`/api/runs/${id}`)
export const listSteps = (id: string, cursor?: string) => api.get<Page<Step>>(`/api/runs/${id}/steps`, { limit: 200, cursor })
/** Every step of a run, page after page. */
export async function allSteps(id: string): Promise<Step[]> {
  const steps: Step[] = []
  let cursor: string | undefined
  do {
    const page = await listSteps(id, cursor)
    steps.push(...page.items)
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
