import { createI18n } from 'vue-i18n'
import type { Locale } from '@/stores/prefs'

type Messages = Record<string, unknown>

const LOADERS: Record<Locale, () => Promise<{ default: Messages }>> = {
  en: () => import('./en'),
  'zh-CN': () => import('./zh-CN'),
}

export const LOCALES: { value: Locale; label: string }[] = [
  { value: 'en', label: 'English' },
  { value: 'zh-CN', label: '中文' },
]

export const i18n = createI18n({ legacy: false, locale: 'en', fallbackLocale: 'en', messages: {}, missingWarn: false, fallbackWarn: false })

export function preferredLocale(): Locale {
  return navigator.languages.some((tag) => tag.toLowerCase().startsWith('zh')) && !navigator.language.startsWith('en') ? 'zh-CN' : 'en'
}

/** Loads a language's messages on first use, then shows the page in it. */
export async function setLocale(locale: Locale): Promise<void> {
  const composer = i18n.global
  if (!composer.availableLocales.includes(locale)) composer.setLocaleMessage(locale, (await LOADERS[locale]()).default)
  composer.locale.value = locale
  document.documentElement.lang = locale
}

export const t = (key: string, values: Record<string, unknown> = {}): string => i18n.global.t(key, values)
