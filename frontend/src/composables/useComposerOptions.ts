import { useQuery } from '@tanstack/vue-query'
import { computed, ref, watch, type Ref } from 'vue'
import { keys } from '@/api/keys'
import { listTools } from '@/api/tools'
import type { Conversation } from '@/api/types'
import { useConversationActions } from './useConversations'

const KEY = 'nanoclaw.tools-off.'

function storedOff(id: string): string[] {
  try {
    return JSON.parse(localStorage.getItem(KEY + id) ?? '[]') as string[]
  } catch {
    return []
  }
}

export const useTools = () => useQuery({ queryKey: keys.tools, queryFn: listTools, select: (page) => page.items })

/** Model, reasoning and tools of the next message. Model and reasoning are kept by the server, tools by this browser. */
export function useComposerOptions(routeId: Ref<string>, conversation: Ref<Conversation | undefined>) {
  const actions = useConversationActions()
  const tools = useTools()
  const draftModel = ref<string | null>(null)
  const draftThinking = ref<boolean | null>(null)
  const off = ref<string[]>([])
  watch(
    routeId,
    (id) => {
      off.value = id === 'new' ? off.value : storedOff(id)
    },
    { immediate: true },
  )
  watch(off, (names) => routeId.value !== 'new' && localStorage.setItem(KEY + routeId.value, JSON.stringify(names)))

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
