import { computed } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { usePrefs } from '@/stores/prefs'
import { useShell } from './useShell'

/** The right panel beside the chat: the project's files, one of them (`?file=` in the URL), or a run (`?run=`). */
export function usePanel() {
  const route = useRoute()
  const router = useRouter()
  const prefs = usePrefs()
  const { projectId } = useShell()
  const asked = (name: string) => computed(() => (typeof route.query[name] === 'string' ? route.query[name] : null))
  const file = asked('file')
  const run = asked('run')
  const available = computed(() => Boolean(route.params.cid) && Boolean(projectId.value || run.value))

  function show(what: { file?: string; run?: string }): void {
    const query = { ...route.query, file: what.file, run: what.run }
    if (what.file || what.run) prefs.panelOpen = true
    void router.replace({ query })
  }
  const open = (path: string | null) => show(path ? { file: path } : {})
  const openRun = (id: string | null) => show(id ? { run: id } : {})
  function close(): void {
    prefs.panelOpen = false
    if (file.value || run.value) show({})
  }
  return { available, projectId, file, run, open, openRun, close }
}
