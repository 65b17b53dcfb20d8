import { useQueryClient } from '@tanstack/vue-query'
import { ref, type Ref } from 'vue'
import { useRouter } from 'vue-router'
import { createConversation, deleteConversation, sendMessage } from '@/api/conversations'
import { keys } from '@/api/keys'
import { ApiError } from '@/api/problem'
import type { Pending } from '@/lib/chatRows'
import { conversationLink } from '@/router/links'
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

interface Place {
  id: Ref<string | null>
  projectId: Ref<string | null>
  messages: ReturnType<typeof useMessages>
  options: ReturnType<typeof useComposerOptions>
  onRun: (runId: string) => void
}

/** Messages on their way: shown at once, sent with an id of their own so that a repeat is no second message. */
export function useOutbox({ id, projectId, messages, options, onRun }: Place) {
  const client = useQueryClient()
  const router = useRouter()
  const pending = ref<Pending[]>([])

  // The conversation made for a first message that has not arrived: another try goes there, a refusal takes it back.
  let made: { project: string | null; id: Promise<string> } | null = null

  const temporary = () => router.currentRoute.value.query.temporary === '1'

  async function create(): Promise<string> {
    const conversation = await createConversation({ project_id: projectId.value, model: options.model.value, thinking: options.thinking.value, tools_off: options.off.value, ...(temporary() ? { temporary: true } : {}) })
    client.setQueryData(keys.conversation(conversation.id), conversation)
    return conversation.id
  }
  function ensureConversation(): Promise<string> {
    if (id.value) return Promise.resolve(id.value)
    if (made?.project !== projectId.value) made = null
    made ??= { project: projectId.value, id: create() }
    made.id.catch(() => (made = null))
    return made.id
  }
  /** Nothing was said in it, so that nobody misses it. */
  async function takeBack(): Promise<void> {
    const empty = made
    made = null
    try {
      if (empty) await deleteConversation(await empty.id)
    } catch {
      // It was never made, or the server is away: then it stays as it is.
    }
    void client.invalidateQueries({ queryKey: keys.conversations })
  }
  async function post(place: string, item: Pending): Promise<void> {
    const answer = await sendMessage(place, {
      content: item.content, attachments: item.attachments, client_id: item.clientId, tools: options.sendTools.value, model: options.model.value ?? undefined,
      ...(item.parentId !== undefined ? { parent_id: item.parentId } : {}),
    })
    if (answer.run) onRun(answer.run.id)
    if (item.parentId !== undefined) await messages.refresh()
    else messages.add(answer.message)
  }
  async function deliver(item: Pending): Promise<void> {
    item.error = null
    try {
      const place = await ensureConversation()
      await post(place, item)
      pending.value = pending.value.filter((other) => other.clientId !== item.clientId)
      void client.invalidateQueries({ queryKey: keys.conversations })
      if (!id.value) await router.replace({ ...(conversationLink({ id: place, project_id: projectId.value }) as object), query: { ...router.currentRoute.value.query, temporary: undefined } })
      made = null
    } catch (error) {
      if (refused(error) && alone(item)) await takeBack()
      pending.value = pending.value.map((other) => (other.clientId === item.clientId ? { ...other, error } : other))
    }
  }
  function send({ content, attachments = [], parentId }: Outgoing): Promise<void> {
    const item: Pending = { clientId: crypto.randomUUID(), content, attachments, parentId, error: null }
    pending.value = [...pending.value, item]
    return deliver(item)
  }
  const alone = (item: Pending): boolean => !id.value && pending.value.every((other) => other.clientId === item.clientId)
  function discard(item: Pending): void {
    if (alone(item)) void takeBack()
    pending.value = pending.value.filter((other) => other.clientId !== item.clientId)
  }
  return { pending, send, resend: deliver, discard }
}
