import { computed } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { usePrefs } from '@/stores/prefs'
import { useShell } from './useShell'

/** The right panel: the project's files beside the chat. The selected file is in the URL (`?file=`). */
export function usePanel() {
  const route = useRoute()
  const router = useRouter()
  const prefs = usePrefs()
  const { projectId } = useShell()
  const available = computed(() => Boolean(projectId.value) && Boolean(route.params.cid))
  const file = computed(() => (typeof route.query.file === 'string' ? route.query.file : null))

  function show(path: string | null): void {
    const query = { ...route.query }
    if (path) query.file = path
    else delete query.file
    if (path) prefs.panelOpen = true
    void router.replace({ query })
  }
  return { available, projectId, file, open: show, close: () => (prefs.panelOpen = false) }
}
