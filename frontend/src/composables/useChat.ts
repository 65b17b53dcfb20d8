import { useQueryClient } from '@tanstack/vue-query'
import { computed, inject, provide, ref, shallowRef, watch, type InjectionKey, type Ref } from 'vue'
import { useI18n } from 'vue-i18n'
import { useRouter } from 'vue-router'
import * as conversations from '@/api/conversations'
import { keys } from '@/api/keys'
import { cancelRun, continueRun } from '@/api/runs'
import { isActive, type CancelReceipt, type Message } from '@/api/types'
import { chatRows, mergeMessages } from '@/lib/chatRows'
import { viewAsMessage, type RunView } from '@/lib/runView'
import { useToasts } from '@/stores/toasts'
import { useComposerOptions } from './useComposerOptions'
import { useConversation } from './useConversations'
import { useErrorText } from './useErrorText'
import { useFinishNotice } from './useFinishNotice'
import { useMessages } from './useMessages'
import { useOutbox, type Outgoing } from './useOutbox'
import { useRunNotice } from './useRunNotice'
import { useRunStream } from './useRunStream'

const NONE: Message[] = []

/** One conversation page: its messages, the run that goes on, and all that a person may do. */
export function createChat(routeId: Ref<string>, projectId: Ref<string | null>, around: Ref<string | null>, leaf: Ref<string | null>) {
  const client = useQueryClient()
  const router = useRouter()
  const toasts = useToasts()
  const words = useErrorText()
  const { t } = useI18n()
  const id = computed(() => (routeId.value === 'new' ? null : routeId.value))
  const conversation = useConversation(id)
  const messages = useMessages(id, around, leaf)
  const options = useComposerOptions(conversation.data)
  const receipt = shallowRef<CancelReceipt | null>(null)
  const stopping = ref(false)
  const continuing = ref(false)
  const editing = ref<string | null>(null)

  // The run just started here is known before the conversation's own record says so; a finished one is not followed again.
  const started = ref<string | null>(null)
  const over = ref(new Set<string>())
  const outbox = useOutbox({ id, projectId, messages, options, onRun: (run) => (started.value = run) })
  const { pending } = outbox
  const runId = computed(() => {
    const active = started.value ?? conversation.data.value?.active_run_id ?? null
    return active && !over.value.has(active) ? active : null
  })
  const ended = shallowRef<RunView | null>(null)
  const notice = useRunNotice()
  const tell = useFinishNotice(() => conversation.data.value?.title ?? '')
  const stream = useRunStream(runId, {
    onEvent: (event, view) => {
      notice.onEvent(event, view)
      if (event.type === 'message.completed' || event.type === 'message.injected') messages.add(event.data.message as Message)
      if (event.type === 'tool_call.finished' && projectId.value) void client.invalidateQueries({ queryKey: keys.files(projectId.value) })
    },
    onFinished: (view) => {
      ended.value = view
      tell(view)
      over.value = new Set([...over.value, view.runId])
      started.value = null
      stopping.value = false
      void messages.refresh()
      void client.invalidateQueries({ queryKey: keys.conversations })
      void client.invalidateQueries({ queryKey: keys.runs })
    },
  })
  const view = computed(() => (stream.value && isActive(stream.value.status) ? stream.value : null))
  const running = computed(() => runId.value !== null)
  // A page opened in the middle ends before the newest message: what is live belongs further down.
  const atEnd = computed(() => !messages.hasPreviousPage.value)
  // While text comes in, only `liveMessage` changes: neither the list nor its rows have anything to do.
  const completed = computed(() => (stream.value ?? ended.value)?.messages ?? NONE)
  const shownMessages = computed(() => mergeMessages(messages.items.value, atEnd.value ? completed.value : NONE))
  const live = computed(() => (atEnd.value ? (view.value ?? (running.value ? stream.value : null)) : null))
  const liveMessage = computed<Message | null>((before) => (live.value ? viewAsMessage(live.value) : (before ?? null)))
  // An answer that is complete stays as it is until the run goes on or ends.
  const writing = computed(() => (live.value && (live.value.blocks.length || live.value.messages.at(-1)?.role !== 'assistant') ? live.value.runId : null))
  const rows = computed(() => chatRows(shownMessages.value, pending.value, writing.value))

  watch(routeId, () => {
    started.value = null
    ended.value = null
    receipt.value = null
    editing.value = null
    stopping.value = false
  })

  /** A page opened in the middle, or at an older version, goes back to the end, where the answer will be. */
  function toNewest(): void {
    if (around.value || leaf.value) void router.replace({ query: { ...router.currentRoute.value.query, m: undefined, v: undefined, call: undefined } })
  }
  function forgetEnd(): void {
    ended.value = null
    receipt.value = null
  }

  function send(message: Outgoing): Promise<void> {
    editing.value = null
    forgetEnd()
    // What is said to an older version goes on from there.
    const shown = leaf.value && leaf.value !== conversation.data.value?.active_leaf_id && atEnd.value ? shownMessages.value.at(-1)?.id : undefined
    toNewest()
    return outbox.send({ ...message, parentId: message.parentId === undefined ? shown : message.parentId })
  }

  /** False when it failed, which a toast says. */
  async function attempt(act: () => Promise<unknown>): Promise<boolean> {
    try {
      await act()
      return true
    } catch (error) {
      toasts.fail(words(error))
      return false
    }
  }
  /** Edit and resend: the new text becomes a sibling of the old message. */
  const resendEdited = (message: Message, content: string) => send({ content, attachments: message.attachments.map((file) => file.path), parentId: message.parent_id })

  async function regenerate(message: Message): Promise<void> {
    await attempt(async () => {
      forgetEnd()
      toNewest()
      const { run } = await conversations.regenerate(message.id, { tools: options.sendTools.value, model: options.model.value ?? undefined })
      started.value = run.id
      await messages.refresh()
    })
  }
  /** Shows another version and makes it the active one; the URL leads back to it. */
  const switchBranch = (sibling: string) =>
    attempt(async () => {
      const page = await conversations.listMessages(id.value!, { around: sibling })
      const to = page.leaf_id ?? sibling
      await conversations.patchConversation(id.value!, { active_leaf_id: to })
      forgetEnd()
      await router.push({ query: { ...router.currentRoute.value.query, m: undefined, call: undefined, v: to } })
      await messages.refresh()
    })
  /** Takes up the work of a run that reached a limit or was stopped. */
  async function goOn(endedRun: string): Promise<void> {
    continuing.value = true
    await attempt(async () => {
      const { message, run } = await continueRun(endedRun)
      forgetEnd()
      toNewest()
      if (run) started.value = run.id
      if (message) messages.add(message)
    })
    continuing.value = false
  }
  async function stop(): Promise<void> {
    const current = runId.value
    if (!current || stopping.value) return
    stopping.value = true
    if (!(await attempt(async () => (receipt.value = await cancelRun(current))))) stopping.value = false
  }
  const editQueued = (message: Message, content: string) =>
    attempt(async () => messages.add(await conversations.editQueuedMessage(message.id, content)))
  const withdraw = (message: Message) =>
    attempt(async () => {
      await conversations.withdrawMessage(message.id)
      messages.dropQueued(message.id)
    })

  /** Takes a message away with all that follows it on its branch; for ten seconds it can be had back by a key. */
  const remove = (message: Message) =>
    attempt(async () => {
      await conversations.deleteMessage(message.id)
      forgetEnd()
      toNewest()
      toasts.undoable(t('chat.deleted'), t('common.undo'), () => void attempt(() => conversations.restoreMessage(message.id).then(messages.refresh)))
      await Promise.all([messages.refresh(), client.invalidateQueries({ queryKey: keys.conversations })])
    })

  return {
    id, projectId, conversation, messages, options, rows, liveMessage, shownMessages, pending, runId, running, view, ended, receipt, stopping, continuing, editing, notice,
    atEnd, toNewest, send, resend: outbox.resend, discard: outbox.discard, resendEdited, regenerate, switchBranch, goOn, remove, stop, editQueued, withdraw,
  }
}

export type Chat = ReturnType<typeof createChat>
const CHAT: InjectionKey<Chat> = Symbol('chat')
export const provideChat = (chat: Chat): void => provide(CHAT, chat)
export function useChat(): Chat {
  const chat = inject(CHAT)
  if (!chat) throw new Error('useChat needs a conversation page above it')
  return chat
}
/** The chat around a part that may also stand elsewhere (a tool card on the tools page). */
export const useOptionalChat = (): Chat | null => inject(CHAT, null)
