import { onBeforeUnmount, ref, watch, type Ref } from 'vue'
import type { Conversation } from '@/api/types'

const KEY = 'nanoclaw.seen'
const MOST = 400

interface Seen {
  /** Nothing from before this browser's first visit is new. */
  since: string
  at: Record<string, string>
}
function load(): Seen | null {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? 'null') as Seen | null
    if (stored?.since) return stored
  } catch {
    // What cannot be read is begun anew.
  }
  return null
}
const seen = ref(load() ?? { since: new Date().toISOString(), at: {} })
// What was read in another tab is read.
addEventListener('storage', ({ key }) => key === KEY && (seen.value = load() ?? seen.value))

/** Remembers how far a conversation was read in this browser; the latest few hundred are kept. */
export function markSeen({ id, updated_at }: Pick<Conversation, 'id' | 'updated_at'>): void {
  if (Date.parse(seen.value.at[id] ?? '') >= Date.parse(updated_at)) return
  const latest = load() ?? seen.value
  const { [id]: _old, ...others } = latest.at
  seen.value = { ...latest, at: Object.fromEntries([...Object.entries(others).slice(1 - MOST), [id, updated_at]]) }
  localStorage.setItem(KEY, JSON.stringify(seen.value))
}
export const isUnread = ({ id, updated_at, active_run_id }: Conversation): boolean =>
  !active_run_id && Date.parse(updated_at) > Date.parse(seen.value.at[id] ?? seen.value.since)

/** The conversation on the page is read as it grows, while somebody can see it. */
export function useSeen(conversation: Ref<Conversation | undefined>): void {
  const look = () => conversation.value && !document.hidden && markSeen(conversation.value)
  watch(conversation, look, { immediate: true })
  document.addEventListener('visibilitychange', look)
  onBeforeUnmount(() => document.removeEventListener('visibilitychange', look))
}
