import { onBeforeUnmount, onMounted } from 'vue'
import { t } from '@/i18n'
import { useToasts } from '@/stores/toasts'

const CHECK_MS = 10 * 60_000

/** Offers a reload when the server hands out another build than the one that runs here. */
export function useStaleVersion(): void {
  const toasts = useToasts()
  const entry = document.querySelector<HTMLScriptElement>('script[type="module"][src^="/assets/"]')?.getAttribute('src')
  let told = false
  function tell(): void {
    if (told) return
    told = true
    toasts.offer(t('common.newVersion'), t('common.reload'), () => location.reload())
  }
  async function check(): Promise<void> {
    if (!entry || told || document.hidden) return
    try {
      const page = await fetch('/', { cache: 'no-cache', headers: { Accept: 'text/html' } })
      if (page.ok && !(await page.text()).includes(entry)) tell()
    } catch {
      // Offline: nothing to compare with; the connection banner says so.
    }
  }
  let timer: ReturnType<typeof setInterval> | undefined
  onMounted(() => {
    timer = setInterval(() => void check(), CHECK_MS)
    // A lazy page of the old build that is gone from the server.
    window.addEventListener('vite:preloadError', tell)
  })
  onBeforeUnmount(() => {
    clearInterval(timer)
    window.removeEventListener('vite:preloadError', tell)
  })
}
