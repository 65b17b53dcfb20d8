import { defineStore } from 'pinia'
import { ref } from 'vue'
import { ApiError, asApiError } from '@/api/problem'
import type { Pending } from '@/lib/chatRows'

const KEY = 'nanoclaw.outbox'

/** A message and the conversation page that it was sent from. */
export interface Outbound extends Pending {
  place: string
  /** Where it goes; a first message learns it when its conversation is made. */
  conversation?: string | null
}

/** Where something is written: a conversation, or the page of one that begins with its first message. */
export const placeOf = (id: string | null, projectId: string | null): string => id ?? `new:${projectId ?? ''}`

function stored(): Outbound[] {
  try {
    const items = JSON.parse(localStorage.getItem(KEY) ?? '[]') as (Outbound & { problem?: [number, string, string] })[]
    // What was on its way when the page was closed may have arrived or not; to send it again makes no second message.
    return items.map(({ problem, ...item }) => ({ ...item, error: new ApiError(...(problem ?? ([0, 'offline', ''] as const))) }))
  } catch {
    return []
  }
}
function store(items: Outbound[]): void {
  const plain = items.map(({ error, ...item }) => {
    const { status, code, detail } = asApiError(error)
    return error ? { ...item, problem: [status, code, detail] } : item
  })
  if (plain.length) localStorage.setItem(KEY, JSON.stringify(plain))
  else localStorage.removeItem(KEY)
}

/** Messages on their way, or that did not get there: they survive other pages and reloads. */
export const useOutboxStore = defineStore('outbox', () => {
  const items = ref<Outbound[]>(stored())

  // The record may hold messages of other tabs as well: only this one is changed in it.
  function put(item: Outbound): void {
    const known = items.value.some((other) => other.clientId === item.clientId)
    items.value = known ? items.value.map((other) => (other.clientId === item.clientId ? item : other)) : [...items.value, item]
    store([...stored().filter((other) => other.clientId !== item.clientId), item])
  }
  function change(clientId: string, to: Partial<Outbound>): void {
    const item = items.value.find((other) => other.clientId === clientId)
    if (item) put({ ...item, ...to })
  }
  function drop(clientId: string): void {
    items.value = items.value.filter((other) => other.clientId !== clientId)
    store(stored().filter((other) => other.clientId !== clientId))
  }
  // Sent or given up in another tab.
  addEventListener('storage', ({ key }) => {
    if (key !== KEY && key !== null) return
    const left = new Set(stored().map((item) => item.clientId))
    items.value = items.value.filter((item) => !item.error || left.has(item.clientId))
  })
  return { items, put, change, drop }
})
