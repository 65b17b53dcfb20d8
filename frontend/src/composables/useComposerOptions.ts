import { useQuery, useQueryClient } from '@tanstack/vue-query'
import { computed, ref, type Ref } from 'vue'
import { keys } from '@/api/keys'
import { listTools } from '@/api/tools'
import type { Conversation } from '@/api/types'
import { useConversationActions } from './useConversations'

export const useTools = () => useQuery({ queryKey: keys.tools, queryFn: listTools, select: (page) => page.items })

/** Model, reasoning and tools of the next message: kept by the server with the conversation, so that every device has them. */
export function useComposerOptions(conversation: Ref<Conversation | undefined>) {
  const client = useQueryClient()
  const actions = useConversationActions()
  const tools = useTools()
  const draftModel = ref<string | null>(null)
  const draftThinking = ref<boolean | null>(null)
  const draftOff = ref<string[]>([])
  const off = computed({
    get: () => (conversation.value ? (conversation.value.tools_off ?? []) : draftOff.value),
    set: (names) => {
      draftOff.value = names
      const known = conversation.value
      if (!known) return
      // Shown at once: the next switch builds on this one.
      client.setQueryData(keys.conversation(known.id), { ...known, tools_off: names })
      void actions.change(known.id, { tools_off: names })
    },
  })

  const model = computed({
    get: () => (conversation.value ? conversation.value.model : draftModel.value),
    set: (value) => {
      draftModel.value = value
      if (conversation.value) void actions.change(conversation.value.id, { model: value })
    },
  })
  const thinking = computed({
    get: () => (conversation.value ? (conversation.value.thinking ?? null) : draftThinking.value),
    set: (value) => {
      draftThinking.value = value
      if (conversation.value) void actions.change(conversation.value.id, { thinking: value })
    },
  })
  const usable = computed(() => (tools.data.value ?? []).filter((tool) => tool.enabled && tool.policy !== 'deny'))
  const isOn = (name: string) => !off.value.includes(name)
  const toggle = (name: string, on: boolean) => {
    off.value = on ? off.value.filter((other) => other !== name) : [...off.value, name]
  }
  const toggleAll = (on: boolean) => {
    off.value = on ? [] : usable.value.map((tool) => tool.name)
  }
  /** Undefined means all that are allowed: the request leaves the field out. */
  const sendTools = computed(() => (off.value.length ? usable.value.map((tool) => tool.name).filter(isOn) : undefined))
  return { model, thinking, tools: usable, off, isOn, toggle, toggleAll, sendTools }
}
