import { computed, ref, type Ref } from 'vue'
import type { Conversation } from '@/api/types'
import { useConversationActions } from './useConversations'
import { useTools } from './useTools'

/** Model, reasoning and tools of the next message: kept by the server with the conversation, so that every device has them. */
export function useComposerOptions(conversation: Ref<Conversation | undefined>) {
  const actions = useConversationActions()
  const tools = useTools()
  const draftModel = ref<string | null>(null)
  const draftThinking = ref<boolean | null>(null)
  const draftOff = ref<string[]>([])
  // Shown at once, and sent one after the other: an earlier answer must not undo a later switch.
  const wanted = ref<{ id: string; names: string[] } | null>(null)
  let sending = false
  async function storeOff(): Promise<void> {
    if (sending) return
    sending = true
    for (let next = wanted.value; next; next = wanted.value) {
      await actions.change(next.id, { tools_off: next.names }).catch(() => undefined)
      if (wanted.value === next) wanted.value = null
    }
    sending = false
  }
  const off = computed({
    get: () => {
      const known = conversation.value
      if (!known) return draftOff.value
      return wanted.value?.id === known.id ? wanted.value.names : (known.tools_off ?? [])
    },
    set: (names) => {
      draftOff.value = names
      if (!conversation.value) return
      wanted.value = { id: conversation.value.id, names }
      void storeOff()
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
