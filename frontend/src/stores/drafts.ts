import { defineStore } from 'pinia'

const PREFIX = 'nanoclaw.draft.'
const SAVE_PAUSE_MS = 300

export interface Draft {
  text: string
  attachments: string[]
}

/** What was typed and not sent, per conversation; survives reloads. */
export const useDrafts = defineStore('drafts', () => {
  const timers = new Map<string, ReturnType<typeof setTimeout>>()

  function load(place: string): Draft {
    try {
      return { text: '', attachments: [], ...(JSON.parse(localStorage.getItem(PREFIX + place) ?? '{}') as Partial<Draft>) }
    } catch {
      return { text: '', attachments: [] }
    }
  }
  function store(place: string, draft: Draft): void {
    if (draft.text || draft.attachments.length) localStorage.setItem(PREFIX + place, JSON.stringify(draft))
    else localStorage.removeItem(PREFIX + place)
  }
  function save(place: string, draft: Draft): void {
    clearTimeout(timers.get(place))
    timers.set(place, setTimeout(() => store(place, draft), SAVE_PAUSE_MS))
  }
  function clear(place: string): void {
    clearTimeout(timers.get(place))
    localStorage.removeItem(PREFIX + place)
  }
  return { load, save, clear }
})
