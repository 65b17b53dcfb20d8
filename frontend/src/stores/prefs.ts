import { defineStore } from 'pinia'
import { reactive, toRefs, watch } from 'vue'
import type { Bindings } from '@/lib/keymap'

export type Locale = 'en' | 'zh-CN'

export interface Prefs {
  theme: 'system' | 'light' | 'dark'
  locale: Locale | null
  density: 'comfortable' | 'compact'
  textSize: 'small' | 'medium' | 'large' | 'x-large'
  motion: 'system' | 'reduced'
  sendKey: 'enter' | 'mod-enter'
  singleKeys: boolean
  /** Own keys for shortcuts. */
  keys: Bindings
  sidebarOpen: boolean
  sidebarWidth: number
  panelOpen: boolean
  /** Projects whose conversations the sidebar shows. */
  unfolded: string[]
  panelWidth: number
  codeWrap: boolean
  /** A note of the system when an answer is ready in a hidden tab. */
  notify: boolean
}

const KEY = 'nanoclaw.prefs'
const DEFAULTS: Prefs = {
  theme: 'system', locale: null, density: 'comfortable', textSize: 'medium', motion: 'system', sendKey: 'enter',
  singleKeys: true, keys: {}, sidebarOpen: true, sidebarWidth: 280, unfolded: [], panelOpen: false, panelWidth: 380, codeWrap: false, notify: false,
}

/** How a tab is laid out is its own affair until the next one is opened. */
const OF_ONE_TAB: ReadonlySet<keyof Prefs> = new Set(['sidebarOpen', 'sidebarWidth', 'unfolded', 'panelOpen', 'panelWidth'])
const fieldsOf = (prefs: object): Record<string, string> => Object.fromEntries(Object.entries(prefs).map(([field, value]) => [field, JSON.stringify(value)]))

function load(): Prefs {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(KEY) ?? '{}') as Partial<Prefs>) }
  } catch {
    return { ...DEFAULTS }
  }
}

function paint(prefs: Prefs): void {
  const root = document.documentElement
  const dark = prefs.theme === 'dark' || (prefs.theme === 'system' && matchMedia('(prefers-color-scheme: dark)').matches)
  root.dataset.theme = dark ? 'dark' : 'light'
  root.dataset.density = prefs.density
  root.dataset.text = prefs.textSize
  root.dataset.motion = prefs.motion
}

/** How this browser likes the app to look and behave; public/theme.js reads the same record. */
export const usePrefs = defineStore('prefs', () => {
  const prefs = reactive(load())
  let known = fieldsOf(prefs)
  watch(
    prefs,
    () => {
      const [now, before] = [fieldsOf(prefs), known]
      known = now
      // Another tab may have written meanwhile: only what was changed here is put over it.
      const own = Object.keys(now).filter((field) => now[field] !== before[field])
      localStorage.setItem(KEY, JSON.stringify({ ...load(), ...Object.fromEntries(own.map((field) => [field, JSON.parse(now[field]!)])) }))
      paint(prefs)
    },
    { immediate: true },
  )
  addEventListener('storage', ({ key }) => {
    if (key !== KEY) return
    const told = Object.fromEntries(Object.entries(load()).filter(([field]) => !OF_ONE_TAB.has(field as keyof Prefs)))
    known = { ...known, ...fieldsOf(told) }
    Object.assign(prefs, told)
  })
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => paint(prefs))
  return toRefs(prefs)
})
