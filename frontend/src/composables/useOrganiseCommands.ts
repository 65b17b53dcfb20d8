import { useQueryClient } from '@tanstack/vue-query'
import { computed, type Component } from 'vue'
import { useI18n } from 'vue-i18n'
import { useRoute, useRouter } from 'vue-router'
import type { MessagePage } from '@/api/types'
import { IconArchive, IconChat, IconFileText, IconFolder, IconFork, IconJson, IconPin, IconTag, IconTemporary, IconTrash, IconUndo, IconUpload } from '@/ui/icons'
import { useConversation } from './useConversations'
import { ask, type Act } from './useOrganise'
import { useShell } from './useShell'
import type { Command } from './useCommands'

/** What the palette offers to put conversations in order: the open one, and the places where the others are. */
export function useOrganiseCommands(close: () => void) {
  const { t } = useI18n()
  const route = useRoute()
  const router = useRouter()
  const client = useQueryClient()
  const shell = useShell()
  const id = computed(() => (route.params.cid && route.params.cid !== 'new' ? String(route.params.cid) : null))
  const { data: conversation } = useConversation(id)

  const command = (name: string, label: string, icon: Component, act: () => unknown): Command => ({
    id: `organise:${name}`, label, icon,
    // The palette gives its focus back first; a dialog that opens next remembers that place.
    run: () => {
      close()
      requestAnimationFrame(() => void act())
    },
  })
  const places = computed<Command[]>(() => [
    command('conversations', t('sidebar.allConversations'), IconChat, () => router.push({ name: 'conversations' })),
    command('archive', t('organise.archive_page'), IconArchive, () => router.push({ name: 'conversations', query: { archived: '1' } })),
    command('bin', t('bin.title'), IconTrash, () => router.push({ name: 'bin' })),
  ])
  const general = computed<Command[]>(() => [
    command('temporary', t('sidebar.newTemporary'), IconTemporary, shell.newTemporary),
    command('import', t('organise.importTitle'), IconUpload, () => ask({ kind: 'import', projectId: shell.projectId.value })),
    command('data', t('settings.exportAll'), IconJson, () => router.push({ name: 'settings', hash: '#data' })),
  ])
  /** The newest message of the page, as the query of the messages has it. */
  function lastMessage(): string | undefined {
    const pages = client.getQueriesData<{ pages: MessagePage[] }>({ queryKey: ['messages', id.value] })
    return pages.map(([, data]) => data?.pages[0]?.items.at(-1)?.id).find(Boolean)
  }
  const own = computed<Command[]>(() => {
    const open = conversation.value
    if (!open || open.id !== id.value) return []
    const act = (what: Act) => () => ask({ kind: 'do', act: what, conversations: [open] })
    const dialog = (kind: 'move' | 'tags') => () => ask({ kind, conversations: [open] })
    const here = (name: string, words: string, icon: Component, doIt: () => unknown) => command(name, t('organise.thisConversation', { act: words }), icon, doIt)
    const last = lastMessage()
    return [
      ...(open.temporary ? [here('keep', t('organise.keep'), IconTemporary, act('keep'))] : []),
      open.pinned ? here('pin', t('organise.unpin'), IconPin, act('unpin')) : here('pin', t('organise.pin'), IconPin, act('pin')),
      here('tags', t('organise.tags'), IconTag, dialog('tags')),
      here('move', t('organise.move'), IconFolder, dialog('move')),
      open.archived ? here('shelve', t('organise.unarchive'), IconUndo, act('unarchive')) : here('shelve', t('organise.archive'), IconArchive, act('archive')),
      ...(last ? [here('fork', t('organise.forkLast'), IconFork, () => ask({ kind: 'fork', conversationId: open.id, messageId: last }))] : []),
      here('md', t('organise.exportMd'), IconFileText, act('exportMd')),
      here('json', t('organise.exportJson'), IconJson, act('exportJson')),
      here('remove', t('common.delete'), IconTrash, act('remove')),
    ]
  })
  return { places, actions: computed(() => [...own.value, ...general.value]) }
}
