import { VueQueryPlugin } from '@tanstack/vue-query'
import { createPinia } from 'pinia'
import { createApp } from 'vue'
import App from './App.vue'
import { queryClient } from './api/queryClient'
import { i18n, preferredLocale, setLocale } from './i18n'
import { createAppRouter } from './router'
import { usePrefs } from './stores/prefs'
import './styles/tokens.css'
import './styles/base.css'
import './styles/ui.css'

async function start(): Promise<void> {
  if (import.meta.env.MODE === 'mocked') await (await import('./mocks')).installMocks()
  const app = createApp(App).use(createPinia())
  const prefs = usePrefs()
  await setLocale(prefs.locale ?? preferredLocale())
  app.use(i18n).use(VueQueryPlugin, { queryClient }).use(createAppRouter()).mount('#app')
}

void start()
