import { useQueryClient } from '@tanstack/vue-query'
import { useI18n } from 'vue-i18n'
import { useRoute, useRouter } from 'vue-router'
import * as api from '@/api/conversations'
import type { ConversationInput } from '@/api/conversations'
import { keys } from '@/api/keys'
import type { Conversation } from '@/api/types'
import { inTurns } from '@/lib/inTurns'
import { saveBlob } from '@/lib/save'
import { conversationLink } from '@/router/links'
import { useToasts } from '@/stores/toasts'
import { useErrorText } from './useErrorText'
import { isUnread, markSeen } from './useSeen'

/** A file of conversations, as the server writes it. */
interface Exported {
  conversations: unknown[]
}
type Inputs = (conversation: Conversation) => ConversationInput

/** What can be done with one conversation or many: each tells what it did, and how to take it back. */
export function useOrganiseActions() {
  const client = useQueryClient()
  const route = useRoute()
  const router = useRouter()
  const toasts = useToasts()
  const words = useErrorText()
  const { t } = useI18n()

  const what = (items: Conversation[]): string =>
    items.length === 1 ? t('organise.quoted', { title: items[0]!.title || t('sidebar.untitled') }) : t('organise.conversations', { n: items.length }, items.length)
  const here = (items: Conversation[]) => items.find((item) => item.id === route.params.cid)

  const tellFailures = (items: Conversation[], failures: unknown[], some: (n: number) => string): void => {
    if (failures.length) toasts.fail(items.length === 1 ? words(failures[0]) : some(failures.length))
  }
  async function each(items: Conversation[], act: (item: Conversation) => Promise<unknown>): Promise<Conversation[]> {
    const { done, failures } = await inTurns(items, act)
    tellFailures(items, failures, (n) => t('organise.someFailed', { n, total: items.length, reason: words(failures[0]) }))
    await client.invalidateQueries({ queryKey: keys.conversations })
    return done
  }
  const change = (items: Conversation[], input: Inputs) =>
    each(items, async (item) => {
      const saved = await api.patchConversation(item.id, input(item))
      client.setQueryData(keys.conversation(item.id), saved)
      // What a person did here is no news to them.
      if (!isUnread(item)) markSeen(saved)
    })
  const undoable = (text: string, items: Conversation[], back: Inputs) =>
    toasts.undoable(text, t('common.undo'), () => void change(items, back).then(() => followMoved(items)))

  /** The page of a conversation that was moved has another address. */
  async function followMoved(items: Conversation[]): Promise<void> {
    const open = here(items)
    const now = open && client.getQueryData<Conversation>(keys.conversation(open.id))
    if (now) await router.replace({ ...(conversationLink(now) as object), query: route.query })
  }
  async function pin(items: Conversation[], on: boolean): Promise<void> {
    const done = await change(items, () => ({ pinned: on }))
    if (done.length) toasts.show(on ? t('organise.pinned', { what: what(done) }) : t('organise.unpinned', { what: what(done) }))
  }
  async function archive(items: Conversation[], on: boolean): Promise<void> {
    const done = await change(items, () => ({ archived: on }))
    if (done.length) undoable(on ? t('organise.archived', { what: what(done) }) : t('organise.unarchived', { what: what(done) }), done, () => ({ archived: !on }))
  }
  async function move(items: Conversation[], projectId: string | null, name: string): Promise<void> {
    const done = await change(items, () => ({ project_id: projectId }))
    if (!done.length) return
    undoable(t('organise.moved', { what: what(done), name }), done, (item) => ({ project_id: item.project_id }))
    await followMoved(done)
  }
  async function tag(items: Conversation[], tagsOf: (item: Conversation) => string[]): Promise<void> {
    const done = await change(items, (item) => ({ tags: tagsOf(item) }))
    if (done.length) undoable(t('organise.tagged', { what: what(done) }), done, (item) => ({ tags: item.tags ?? [] }))
  }
  async function remove(items: Conversation[]): Promise<void> {
    // Its page is left first, or it would ask for what is no longer there.
    const open = here(items)
    if (open) await router.push(open.project_id ? { name: 'project', params: { id: open.project_id } } : { name: 'home' })
    const done = await each(items, (item) => api.deleteConversation(item.id))
    if (done.length) toasts.undoable(t('organise.deleted', { what: what(done) }), t('common.undo'), () => void restore(done))
  }
  const restore = (items: Conversation[]) => each(items, (item) => api.restoreConversation(item.id))
  async function keep(item: Conversation): Promise<void> {
    if ((await change([item], () => ({ temporary: false }))).length) toasts.show(t('organise.kept'))
  }
  async function exportAs(item: Conversation, format: 'md' | 'json'): Promise<void> {
    try {
      const response = await api.exportConversation(item.id, format)
      saveBlob(await response.blob(), nameOf(response) ?? `conversation.${format}`)
    } catch (error) {
      toasts.fail(words(error))
    }
  }
  /** All of them as one file, which can be imported again. */
  async function exportTogether(items: Conversation[]): Promise<void> {
    const files = new Map<string, Exported>()
    const { done, failures } = await inTurns(items, async (item) => files.set(item.id, (await (await api.exportConversation(item.id, 'json')).json()) as Exported))
    tellFailures(items, failures, (n) => t('organise.notExported', { n, total: items.length, reason: words(failures[0]) }))
    const [first] = files.values()
    if (!first) return
    const together = { ...first, conversations: done.flatMap((item) => files.get(item.id)?.conversations ?? []) }
    saveBlob(new Blob([JSON.stringify(together)], { type: 'application/json' }), `nanoclaw-${new Date().toISOString().slice(0, 10)}.json`)
    toasts.show(t('organise.exported', { what: what(done) }))
  }
  async function fork(conversationId: string, messageId: string): Promise<void> {
    try {
      const made = await api.forkConversation(conversationId, messageId)
      markSeen(made)
      await client.invalidateQueries({ queryKey: keys.conversations })
      toasts.offer(t('organise.forked', { title: made.title || t('sidebar.untitled') }), t('organise.open'), () => void router.push(conversationLink(made)))
    } catch (error) {
      toasts.fail(words(error))
    }
  }
  return { pin, archive, move, tag, remove, restore, keep, exportAs, exportTogether, fork }
}

/** The name that the server gives to a download. */
function nameOf(response: Response): string | null {
  const header = response.headers.get('Content-Disposition') ?? ''
  const coded = /filename\*=UTF-8''([^;]+)/i.exec(header)?.[1]
  return coded ? decodeURIComponent(coded) : (/filename="?([^";]+)"?/i.exec(header)?.[1] ?? null)
}
