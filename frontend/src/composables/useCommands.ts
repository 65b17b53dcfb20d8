import { useQuery } from '@tanstack/vue-query'
import { computed, ref, watch, type Component, type Ref } from 'vue'
import { useI18n } from 'vue-i18n'
import { useRouter, type RouteLocationRaw } from 'vue-router'
import { keys } from '@/api/keys'
import { searchAll } from '@/api/search'
import { bestMatches, score } from '@/lib/match'
import { labelOf, SHORTCUTS } from '@/lib/keymap'
import { conversationLink, newConversationLink } from '@/router/links'
import { IconChat, IconExternal, IconFolder, IconPlay, IconSearch } from '@/ui/icons'
import { useConversationList } from './useConversations'
import { useOrganiseCommands } from './useOrganiseCommands'
import { useProjects } from './useProjects'
import { useSignOut } from './useSignOut'
import { hasShortcut, runShortcut } from './useShortcuts'

export interface Command {
  id: string
  label: string
  icon: Component
  hint?: string
  run: () => void
}

const PAGES = ['home', 'projects', 'tools', 'usage', 'settings']
const SEARCH_PAUSE_MS = 250
const SEARCH_CHARS = 2

function useFound(text: Ref<string>) {
  const settled = ref('')
  watch(text, (value, _old, onCleanup) => {
    const timer = setTimeout(() => (settled.value = value.trim()), SEARCH_PAUSE_MS)
    onCleanup(() => clearTimeout(timer))
  })
  return useQuery({
    queryKey: computed(() => keys.search(settled.value)),
    queryFn: ({ signal }) => searchAll(settled.value, signal),
    enabled: () => settled.value.length >= SEARCH_CHARS,
  })
}

/** Everything that the palette offers for a text, in groups, best first. */
export function useCommands(text: Ref<string>, close: () => void) {
  const { t } = useI18n()
  const router = useRouter()
  const { data: projects } = useProjects()
  const conversations = useConversationList()
  const found = useFound(text)
  const organise = useOrganiseCommands(close)

  const go = (to: RouteLocationRaw) => () => {
    close()
    void router.push(to)
  }
  const keyActions = computed<Command[]>(() =>
    SHORTCUTS.filter((shortcut) => !shortcut.hidden && shortcut.id !== 'palette' && hasShortcut(shortcut.id)).map((shortcut) => ({
      id: `act:${shortcut.id}`, label: t(`keys.${shortcut.id}`), icon: IconPlay, hint: labelOf(shortcut.id) || undefined,
      run: () => {
        close()
        requestAnimationFrame(() => runShortcut(shortcut.id))
      },
    })),
  )
  const leave = useSignOut()
  const signOut = computed<Command[]>(() => (leave.possible.value ? [{ id: 'signOut', label: t('shell.signOut'), icon: IconExternal, run: () => void leave.signOut() }] : []))
  const actions = computed(() => [...keyActions.value, ...organise.actions.value, ...signOut.value])
  const pages = computed<Command[]>(() => [
    ...PAGES.filter((name) => router.hasRoute(name)).map((name) => ({ id: `page:${name}`, label: t(`shell.${name}`), icon: IconExternal, run: go({ name }) })),
    ...organise.places.value,
  ])
  const projectCommands = computed<Command[]>(() =>
    (projects.value ?? []).map(({ id, name }) => ({
      id: `project:${id}`, label: name, icon: IconFolder,
      run: go(router.hasRoute('project') ? { name: 'project', params: { id } } : newConversationLink(id)),
    })),
  )
  const conversationCommands = computed<Command[]>(() =>
    conversations.items.value.map((item) => ({ id: `chat:${item.id}`, label: item.title || t('sidebar.untitled'), icon: IconChat, run: go(conversationLink(item)) })),
  )
  const hits = computed<Command[]>(() =>
    (found.data.value?.items ?? [])
      .filter((hit) => hit.type === 'message' && hit.conversation_id)
      .map((hit) => ({
        id: `hit:${hit.id}`, label: hit.snippet, icon: IconSearch, hint: hit.title ?? undefined,
        run: go(conversationLink({ id: hit.conversation_id!, project_id: hit.project_id }, { m: hit.id })),
      })),
  )
  const everywhere = computed<Command[]>(() => [{ id: 'search', label: t('palette.everywhere', { text: text.value.trim() }), icon: IconSearch, run: go({ name: 'search', query: { q: text.value.trim() } }) }])
  return computed(() => {
    const best = (commands: Command[], most: number) => bestMatches(commands, text.value, (command) => command.label, most)
    const named = [
      { label: t('palette.conversations'), items: best(conversationCommands.value, 6) },
      { label: t('palette.projects'), items: best(projectCommands.value, 5) },
      { label: t('palette.pages'), items: best(pages.value, text.value ? 5 : 8) },
      { label: t('palette.actions'), items: best(actions.value, text.value ? 8 : 40) },
    ].filter((group) => group.items.length)
    // With words the group with the best match leads: its first item is what Enter takes.
    const points = (group: (typeof named)[number]) => score(group.items[0]!.label, text.value)
    if (!text.value.trim()) return named
    return [...named.sort((a, b) => points(b) - points(a)), { label: t('palette.found'), items: [...hits.value.slice(0, 8), ...everywhere.value] }]
  })
}
