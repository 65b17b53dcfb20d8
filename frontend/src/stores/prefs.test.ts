import { createPinia, setActivePinia } from 'pinia'
import { beforeEach, expect, it, vi } from 'vitest'
import { nextTick } from 'vue'
import { isUnread, markSeen } from '@/composables/useSeen'
import type { Conversation } from '@/api/types'
import { usePrefs } from './prefs'

const KEY = 'nanoclaw.prefs'
const stored = () => JSON.parse(localStorage.getItem(KEY)!) as Record<string, unknown>
const inAnotherTab = (key: string, record: object) => {
  localStorage.setItem(key, JSON.stringify(record))
  dispatchEvent(new StorageEvent('storage', { key }))
}

beforeEach(() => {
  vi.stubGlobal('matchMedia', () => ({ matches: false, addEventListener: () => {} }))
  localStorage.clear()
  setActivePinia(createPinia())
})

it('what another tab prefers is neither missed nor written over', async () => {
  const prefs = usePrefs()
  inAnotherTab(KEY, { ...stored(), theme: 'dark', keys: { help: ['h'] }, panelOpen: true })
  await nextTick()
  expect([prefs.theme, prefs.keys, document.documentElement.dataset.theme]).toEqual(['dark', { help: ['h'] }, 'dark'])
  expect(prefs.panelOpen).toBe(false)
  prefs.density = 'compact'
  await nextTick()
  expect(stored()).toMatchObject({ theme: 'dark', keys: { help: ['h'] }, density: 'compact', panelOpen: true })
})

it('what was read in another tab stays read', () => {
  const talk = (id: string) => ({ id, updated_at: '2999-01-01T00:00:00Z', active_run_id: null }) as Conversation
  inAnotherTab('nanoclaw.seen', { since: '2020-01-01T00:00:00Z', at: { theirs: '2999-01-01T00:00:00Z' } })
  markSeen(talk('mine'))
  expect([isUnread(talk('theirs')), isUnread(talk('mine')), isUnread(talk('other'))]).toEqual([false, false, true])
  expect(JSON.parse(localStorage.getItem('nanoclaw.seen')!)).toMatchObject({ at: { theirs: '2999-01-01T00:00:00Z' } })
})
