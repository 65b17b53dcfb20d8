import { computed, ref } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import { newConversationLink } from '@/router/links'
import { usePrefs } from '@/stores/prefs'
import { useToasts } from '@/stores/toasts'
import { useBreakpoint } from './useBreakpoint'
import { useShortcut } from './useShortcuts'

const paletteOpen = ref(false)
const helpOpen = ref(false)
const drawerOpen = ref(false)

/** What is open around the page, and where the page is; shared by header, sidebar and palette. */
export function useShell() {
  const route = useRoute()
  const router = useRouter()
  const prefs = usePrefs()
  const { sidebarAsDrawer } = useBreakpoint()
  const projectId = computed(() => (route.path.startsWith('/p/') ? String(route.params.id) : null))

  function toggleSidebar(): void {
    if (sidebarAsDrawer.value) drawerOpen.value = !drawerOpen.value
    else prefs.sidebarOpen = !prefs.sidebarOpen
  }
  const togglePanel = () => {
    prefs.panelOpen = !prefs.panelOpen
  }
  const newConversation = () => router.push(newConversationLink(projectId.value))
  /** One that is in no list, and gone a day after its last message. */
  const newTemporary = () => router.push(newConversationLink(projectId.value, { temporary: '1' }))
  return { paletteOpen, helpOpen, drawerOpen, projectId, toggleSidebar, togglePanel, newConversation, newTemporary }
}

const PANES = ['#app-header', '#app-sidebar', '#main', '#side-panel']

function movePane(step: number): void {
  const panes = PANES.map((selector) => document.querySelector<HTMLElement>(selector)).filter((pane) => pane !== null)
  const current = panes.findIndex((pane) => pane.contains(document.activeElement))
  const next = panes[(current + step + panes.length) % panes.length]
  const target = next?.querySelector<HTMLElement>('[data-pane-focus], a, button, textarea, input, [tabindex="0"]') ?? next
  target?.focus()
}

/** The keys that work on every page; used once, by the shell. */
export function useShellShortcuts(): void {
  const router = useRouter()
  const shell = useShell()
  const toasts = useToasts()
  const go = (name: string) => () => {
    if (!router.hasRoute(name)) return false
    void router.push({ name })
  }
  const goProject = (name: string) => () => {
    if (!shell.projectId.value || !router.hasRoute(name)) return false
    void router.push({ name, params: { id: shell.projectId.value } })
  }
  useShortcut('palette', () => void (shell.paletteOpen.value = !shell.paletteOpen.value))
  useShortcut('help', () => void (shell.helpOpen.value = true))
  useShortcut('newConversation', () => void shell.newConversation())
  useShortcut('sidebar', () => shell.toggleSidebar())
  useShortcut('panel', () => shell.togglePanel())
  useShortcut('panes', () => movePane(1))
  useShortcut('panesBack', () => movePane(-1))
  useShortcut('undo', () => toasts.undoLatest())
  useShortcut('goHome', go('home'))
  useShortcut('goTools', go('tools'))
  useShortcut('goFiles', goProject('files'))
  useShortcut('goRuns', goProject('runs'))
}
