import { createI18n } from 'vue-i18n'
import type { Locale } from '@/stores/prefs'

type Messages = Record<string, unknown>

const LOADERS: Record<Locale, () => Promise<{ default: Messages }>> = {
  en: () => import('./en'),
  'zh-CN': () => import('./zh-CN'),
}
/** Messages of the pages beside the conversation; loaded with the first of them. */
const PAGE_LOADERS: typeof LOADERS = {
  en: () => import('virtual:messages/en/pages'),
  'zh-CN': () => import('virtual:messages/zh-CN/pages'),
}
const withPages = new Set<Locale>()
let pagesWanted = false

export const LOCALES: { value: Locale; label: string }[] = [
  { value: 'en', label: 'English' },
  { value: 'zh-CN', label: '中文' },
]

export const i18n = createI18n({
  legacy: false,
  locale: 'en',
  fallbackLocale: 'en',
  messages: {},
  missingWarn: false,
  fallbackWarn: false,
  // The build has made functions of all messages with placeholders; what is left is plain text.
  messageCompiler: (message) => () => String(message),
})

export function preferredLocale(): Locale {
  return navigator.languages.some((tag) => tag.toLowerCase().startsWith('zh')) && !navigator.language.startsWith('en') ? 'zh-CN' : 'en'
}

async function addPages(locale: Locale): Promise<void> {
  if (withPages.has(locale)) return
  const { default: messages } = await PAGE_LOADERS[locale]()
  withPages.add(locale)
  i18n.global.mergeLocaleMessage(locale, messages)
}

/** Asked by every page whose messages are not part of the first load. */
export async function loadPageMessages(): Promise<void> {
  pagesWanted = true
  await addPages(i18n.global.locale.value as Locale)
}

/** Loads a language's messages on first use, then shows the page in it. */
export async function setLocale(locale: Locale): Promise<void> {
  const composer = i18n.global
  if (!composer.availableLocales.includes(locale)) composer.setLocaleMessage(locale, (await LOADERS[locale]()).default)
  if (pagesWanted) await addPages(locale)
  composer.locale.value = locale
  document.documentElement.lang = locale
}

export const t = (key: string, values: Record<string, unknown> = {}): string => i18n.global.t(key, values)
