import { useQueryClient } from '@tanstack/vue-query'
import { ref, type Ref } from 'vue'
import { useRouter } from 'vue-router'
import { createConversation, sendMessage } from '@/api/conversations'
import { keys } from '@/api/keys'
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

  async function ensureConversation(): Promise<string> {
    if (id.value) return id.value
    const made = await createConversation({ project_id: projectId.value, model: options.model.value, thinking: options.thinking.value })
    client.setQueryData(keys.conversation(made.id), made)
    return made.id
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
      discard(item)
      void client.invalidateQueries({ queryKey: keys.conversations })
      if (!id.value) await router.replace({ ...(conversationLink({ id: place, project_id: projectId.value }) as object), query: router.currentRoute.value.query })
    } catch (error) {
      pending.value = pending.value.map((other) => (other.clientId === item.clientId ? { ...other, error } : other))
    }
  }
  function send({ content, attachments = [], parentId }: Outgoing): Promise<void> {
    const item: Pending = { clientId: crypto.randomUUID(), content, attachments, parentId, error: null }
    pending.value = [...pending.value, item]
    return deliver(item)
  }
  function discard(item: Pending): void {
    pending.value = pending.value.filter((other) => other.clientId !== item.clientId)
  }
  return { pending, send, resend: deliver, discard }
}
