import type { Message } from '@/api/types'
import { callKey, groupKey, unfold } from '@/composables/useOpenState'
import { partsOf } from '@/lib/calls'

/** A link may lead to one call of an answer: its card is opened, with the group it is folded in. */
export function unfoldCall(message: Message, callId: string): void {
  const group = partsOf(message.blocks, message.tool_calls).find((part) => part.kind === 'calls' && part.calls.some((call) => call.id === callId))
  if (group?.kind !== 'calls') return
  unfold(groupKey(message.run_id, group.calls[0]?.id))
  unfold(callKey(message.run_id, callId))
}

/** The card of a call on the page; ids of calls are the model's, and only unique within an answer. */
export const cardOf = (messageId: string, callId: string): Element | undefined =>
  [...(document.getElementById(`message-${messageId}`)?.querySelectorAll('.call') ?? [])].find((card) => card.id === `call-${callId}`)
