import { defineAsyncComponent, type Component } from 'vue'

/** What each viewer gets: the tool's data, the call's arguments, the project for links to its files. */
export interface ViewerProps {
  data: unknown
  args: Record<string, unknown>
  projectId?: string | null
}

const lazy = (load: () => Promise<Component>) => defineAsyncComponent(load)
const page = lazy(() => import('./PageView.vue'))
const beforeAfter = lazy(() => import('./BeforeAfterView.vue'))
const file = lazy(() => import('./FilePathView.vue'))
const read = lazy(() => import('./FileReadView.vue'))
const write = lazy(() => import('./FileWriteView.vue'))

const VIEWERS: Record<string, Component> = {
  web_search: lazy(() => import('./SearchView.vue')), fetch_page: page, crawl_batch: lazy(() => import('./CrawlView.vue')), calculator: lazy(() => import('./CalculatorView.vue')),
  execute_python: lazy(() => import('./PythonView.vue')), file_read: read, file_write: write, file_edit: write, file_search: lazy(() => import('./FileSearchView.vue')), file_list: lazy(() => import('./FileListView.vue')), file_delete: file, file_move: file, file_mkdir: file,
  file_exists: file, get_weather: lazy(() => import('./WeatherView.vue')), json_process: beforeAfter, text_process: beforeAfter, multi_agent: lazy(() => import('./AgentsView.vue')),
}
export const viewerOf = (tool: string): Component | null => VIEWERS[tool] ?? null

export const asRecord = (value: unknown): Record<string, unknown> => (value && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {})
export const asList = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.map(asRecord) : [])
export const asText = (value: unknown): string => (typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value, null, 2))
/** Only web addresses become links; anything else is shown as text. */
export const webAddress = (value: unknown): string | undefined => (typeof value === 'string' && /^https?:\/\//i.test(value) ? value : undefined)
export const siteOf = (address: string): string => {
  try {
    return new URL(address).hostname.replace(/^www\./, '')
  } catch {
    return ''
  }
}
