import { defineStore } from 'pinia'
import { computed, ref, watch } from 'vue'
import type { Readiness } from '@/api/stats'
import { onReachability, queryClient } from '@/api/queryClient'

export type LiveState = 'live' | 'reconnecting' | 'caught-up' | 'polling'

const FIRST_RETRY_MS = 2_000
const LONGEST_RETRY_MS = 10_000
const STORAGE_ASK_MS = 3_000

/** Whether the server can be reached, and how the live streams are doing. */
export const useConnection = defineStore('connection', () => {
  const browserOnline = ref(navigator.onLine)
  const reachable = ref(true)
  const live = ref<LiveState>('live')
  const tries = ref(0)
  const storing = ref(true)
  const offline = computed(() => !browserOnline.value || !reachable.value)
  let timer: ReturnType<typeof setTimeout> | undefined
  let wait = FIRST_RETRY_MS

  onReachability((value) => (reachable.value = value))
  window.addEventListener('online', () => {
    browserOnline.value = true
    void retryNow()
  })
  window.addEventListener('offline', () => (browserOnline.value = false))

  async function retryNow(): Promise<void> {
    clearTimeout(timer)
    try {
      reachable.value = (await fetch('/healthz', { cache: 'no-store' })).ok
    } catch {
      reachable.value = false
    }
    if (reachable.value) await queryClient.invalidateQueries()
    else schedule()
  }
  function schedule(): void {
    clearTimeout(timer)
    timer = setTimeout(() => void retryNow(), wait)
    wait = Math.min(wait * 2, LONGEST_RETRY_MS)
  }
  watch(reachable, (value) => {
    if (value) wait = FIRST_RETRY_MS
    else schedule()
  })
  /** A stream was opened: the server is there, whatever a request said before. */
  function seen(): void {
    if (!reachable.value) void retryNow()
  }
  function report(state: LiveState, attempt = 0): void {
    live.value = state
    tries.value = attempt
  }
  /** Nothing can be stored just now. The server tells of the trouble only, so it is asked until all is entered. */
  function storageFailed(): void {
    if (storing.value) setTimeout(() => void askStorage(), STORAGE_ASK_MS)
    storing.value = false
  }
  async function askStorage(): Promise<void> {
    try {
      const { details } = (await (await fetch('/readyz', { cache: 'no-store' })).json()) as Readiness
      storing.value = !details?.database?.records_waiting
    } catch {
      // Away: that has a banner of its own.
    }
    if (!storing.value) setTimeout(() => void askStorage(), STORAGE_ASK_MS)
  }
  return { offline, storing, storageFailed, live, tries, retryNow, seen, report }
})
