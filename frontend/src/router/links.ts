import type { RouteLocationRaw } from 'vue-router'

type Place = { id: string; project_id?: string | null }

/** Where a conversation lives: inside its project, or outside any. */
export function conversationLink(place: Place, query: Record<string, string> = {}): RouteLocationRaw {
  return place.project_id
    ? { name: 'project-conversation', params: { id: place.project_id, cid: place.id }, query }
    : { name: 'conversation', params: { cid: place.id }, query }
}

/** A conversation that begins with its first message. */
export const newConversationLink = (projectId?: string | null, query: Record<string, string> = {}) =>
  conversationLink({ id: 'new', project_id: projectId }, query)

/** The trace of a run; null while the page does not exist. */
export function runLink(runId: string, projectId: string | null | undefined, has: (name: string) => boolean): RouteLocationRaw | null {
  if (projectId && has('run')) return { name: 'run', params: { id: projectId, rid: runId } }
  return has('run-free') ? { name: 'run-free', params: { rid: runId } } : null
}
