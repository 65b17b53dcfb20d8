import { useQueryClient } from '@tanstack/vue-query'
import { computed, type Ref } from 'vue'
import { useRouter } from 'vue-router'
import { createConversation, deleteConversation, sendMessage } from '@/api/conversations'
import { keys } from '@/api/keys'
import { ApiError } from '@/api/problem'
import type { Pending } from '@/lib/chatRows'
import { conversationLink } from '@/router/links'
import { placeOf, useOutboxStore, type Outbound } from '@/stores/outbox'
import type { useComposerOptions } from './useComposerOptions'
import type { useMessages } from './useMessages'

export interface Outgoing {
  content: string
  attachments?: string[]
  /** Undefined continues the active branch; a value makes a branch after that message. */
  parentId?: string | null
}

/** The server has said no: the message is certainly not stored there. */
const refused = (error: unknown): boolean => error instanceof ApiError && error.status >= 400 && error.status < 500

interface Page {
  id: Ref<string | null>
  projectId: Ref<string | null>
  messages: ReturnType<typeof useMessages>
  options: ReturnType<typeof useComposerOptions>
  onRun: (runId: string) => void
}

/** Messages on their way: shown at once, sent with an id of their own so that a repeat is no second message. */
export function useOutbox({ id, projectId, messages, options, onRun }: Page) {
  const client = useQueryClient()
  const router = useRouter()
  const store = useOutboxStore()
  const here = computed(() => placeOf(id.value, projectId.value))
  const pending = computed<Outbound[]>(() => store.items.filter((item) => item.place === here.value))

  // The conversation made for a first message that has not arrived: another try goes there, a refusal takes it back.
  let made: { project: string | null; id: Promise<string> } | null = null

  const temporary = () => router.currentRoute.value.query.temporary === '1'

  async function create(): Promise<string> {
    const conversation = await createConversation({ project_id: projectId.value, model: options.model.value, thinking: options.thinking.value, tools_off: options.off.value, ...(temporary() ? { temporary: true } : {}) })
    client.setQueryData(keys.conversation(conversation.id), conversation)
    return conversation.id
  }
  function ensureConversation(item: Outbound): Promise<string> {
    const known = item.conversation ?? id.value
    if (known) return Promise.resolve(known)
    if (made?.project !== projectId.value) made = null
    made ??= { project: projectId.value, id: create() }
    made.id.catch(() => (made = null))
    return made.id
  }
  /** Nothing was said in it, so that nobody misses it. */
  async function takeBack(item: Outbound): Promise<void> {
    const empty = made?.id ?? item.conversation
    made = null
    try {
      if (empty) await deleteConversation(await empty)
    } catch {
      // It was never made, or the server is away: then it stays as it is.
    }
    void client.invalidateQueries({ queryKey: keys.conversations })
  }
  async function post(conversation: string, item: Outbound, isShown: () => boolean): Promise<void> {
    const answer = await sendMessage(conversation, {
      content: item.content, attachments: item.attachments, client_id: item.clientId, tools: options.sendTools.value, model: options.model.value ?? undefined,
      ...(item.parentId !== undefined ? { parent_id: item.parentId } : {}),
    })
    // Another page may be shown by now: it has nothing to do with this answer.
    if (!isShown()) return void client.invalidateQueries({ queryKey: ['messages', conversation] })
    if (answer.run) onRun(answer.run.id)
    if (item.parentId !== undefined) await messages.refresh()
    else messages.add(answer.message)
  }
  /** The page of the first message becomes that of its conversation, unless one has gone elsewhere meanwhile. */
  async function move(item: Outbound, conversation: string, project: string | null, isShown: boolean): Promise<void> {
    const others = store.items.filter((other) => other.place === item.place && other.clientId !== item.clientId)
    for (const other of others) store.change(other.clientId, { place: conversation, conversation })
    made = null
    if (!isShown) return
    await router.replace({ ...(conversationLink({ id: conversation, project_id: project }) as object), query: { ...router.currentRoute.value.query, temporary: undefined } })
  }
  async function deliver(item: Outbound): Promise<void> {
    store.put({ ...item, error: null })
    const project = projectId.value
    const page = router.currentRoute.value.name
    const isShown = () => pending.value.some((other) => other.clientId === item.clientId) && router.currentRoute.value.name === page
    const first = !id.value
    try {
      const conversation = await ensureConversation(item)
      store.change(item.clientId, { conversation })
      await post(conversation, item, isShown)
      void client.invalidateQueries({ queryKey: keys.conversations })
      if (first) await move(item, conversation, project, isShown())
      store.drop(item.clientId)
    } catch (error) {
      const gone = refused(error) && first && alone(item)
      if (gone) await takeBack(item)
      store.change(item.clientId, { error, ...(gone ? { conversation: null } : {}) })
    }
  }
  function send({ content, attachments = [], parentId }: Outgoing): Promise<void> {
    return deliver({ clientId: crypto.randomUUID(), place: here.value, conversation: id.value, content, attachments, parentId, error: null })
  }
  const alone = (item: Outbound): boolean => store.items.every((other) => other.place !== item.place || other.clientId === item.clientId)
  const found = (item: Pending) => pending.value.find((other) => other.clientId === item.clientId)
  async function resend(item: Pending): Promise<void> {
    const known = found(item)
    if (known) await deliver(known)
  }
  function discard(item: Pending): void {
    const known = found(item)
    if (known && !id.value && alone(known)) void takeBack(known)
    store.drop(item.clientId)
  }
  return { pending, send, resend, discard }
}
