import { shallowRef, watch } from 'vue'
import { useI18n } from 'vue-i18n'
import type { Locale } from '@/stores/prefs'

/** Words for the parameters of built-in tools: many, and wanted only where a tool is looked at. */
const LOADERS: Record<Locale, () => Promise<{ default: Record<string, unknown> }>> = {
  en: () => import('virtual:messages/en/tools'),
  'zh-CN': () => import('virtual:messages/zh-CN/tools'),
}
const loaded = shallowRef<ReadonlySet<string>>(new Set())

/** A parameter of a tool in the reader's language; one of an own tool in the words of whoever wrote it. */
export function useParamWords() {
  const { t, te, locale, mergeLocaleMessage } = useI18n({ useScope: 'global' })
  async function load(language: string): Promise<void> {
    if (loaded.value.has(language)) return
    const { default: messages } = await LOADERS[language as Locale]()
    mergeLocaleMessage(language, messages)
    loaded.value = new Set([...loaded.value, language])
  }
  // Without them the server's own words stand there.
  watch(locale, (language) => void load(language).catch(() => undefined), { immediate: true })

  /** `path` as in `tasks.0.name`: places in a list are left out. */
  function about(tool: string, path: string, own = ''): string {
    const key = path.split('.').filter((part) => !/^\d+$/.test(part)).join('_')
    // Messages that are merged later do not make what is shown anew by themselves.
    return loaded.value.size && te(`params.${tool}.${key}`) ? t(`params.${tool}.${key}`) : own
  }
  return { about }
}
