import { computed, ref } from 'vue'

function media(query: string) {
  const list = matchMedia(query)
  const matches = ref(list.matches)
  list.addEventListener('change', (event) => (matches.value = event.matches))
  return matches
}

const below600 = media('(max-width: 599.98px)')
const below900 = media('(max-width: 899.98px)')
const below1280 = media('(max-width: 1279.98px)')
const coarse = media('(pointer: coarse)')

/** The four layouts: one pane, sidebar as drawer, panel as overlay, three panes. */
export const useBreakpoint = () => ({
  onePane: below600,
  sidebarAsDrawer: below900,
  panelAsOverlay: below1280,
  touch: coarse,
  threePanes: computed(() => !below1280.value),
})
