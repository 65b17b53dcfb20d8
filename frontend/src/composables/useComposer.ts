import { computed, inject, provide, ref, watch, type InjectionKey } from 'vue'
import { useI18n } from 'vue-i18n'
import { estimateTokens } from '@/lib/tokens'
import { useConnection } from '@/stores/connection'
import { useDrafts } from '@/stores/drafts'
import { placeOf, useOutboxStore } from '@/stores/outbox'
import { useToasts } from '@/stores/toasts'
import { useChat } from './useChat'
import { useUploads } from './useUploads'

/** What the server takes as one message. */
export const MAX_MESSAGE_CHARS = 400_000

/** What is being written: text, files, the draft that keeps both, and sending. */
export function createComposer() {
  const chat = useChat()
  const drafts = useDrafts()
  const outbox = useOutboxStore()
  const connection = useConnection()
  const toasts = useToasts()
  const { t } = useI18n()
  const uploads = useUploads(chat.projectId)
  const text = ref('')
  /** Files of the project that were chosen by name, not uploaded now. */
  const chosen = ref<string[]>([])
  const field = ref<HTMLTextAreaElement | null>(null)
  const place = computed(() => placeOf(chat.id.value, chat.projectId.value))

  watch(
    place,
    (next, before) => {
      // The first message just made the conversation: what is typed meanwhile comes along.
      if (before && outbox.items.some((item) => item.place === before && item.conversation === next)) {
        drafts.clear(before)
        drafts.save(next, { text: text.value, attachments: attachments.value })
        return
      }
      const draft = drafts.load(next)
      text.value = draft.text
      chosen.value = draft.attachments
      uploads.clear()
    },
    { immediate: true },
  )
  const uploaded = computed(() => uploads.items.value.filter((item) => item.state === 'done').map((item) => item.path))
  const attachments = computed(() => [...new Set([...chosen.value, ...uploaded.value])])
  watch([text, attachments], () => drafts.save(place.value, { text: text.value, attachments: attachments.value }))

  const empty = computed(() => !text.value.trim())
  const blocked = computed(() => (connection.offline ? 'offline' : uploads.busy.value ? 'uploading' : text.value.trim().length > MAX_MESSAGE_CHARS ? 'tooLong' : null))
  const canSend = computed(() => !empty.value && !blocked.value)
  const tokens = computed(() => estimateTokens(text.value))

  function send(): void {
    if (!canSend.value) return
    const outgoing = { content: text.value.trim(), attachments: attachments.value }
    drafts.clear(place.value)
    text.value = ''
    chosen.value = []
    uploads.clear()
    void chat.send(outgoing)
  }
  function attach(path: string): void {
    if (!chosen.value.includes(path)) chosen.value = [...chosen.value, path]
  }
  const detach = (path: string) => {
    chosen.value = chosen.value.filter((other) => other !== path)
  }
  /** Takes files from a drop or a paste; true if there were any. A conversation outside any project cannot hold files, and says so. */
  function take(data: DataTransfer | null): boolean {
    if (chat.projectId.value) return uploads.take(data)
    const has = Boolean(data?.files.length)
    if (has) toasts.show(t('chat.attachNeedsProject'))
    return has
  }
  /** Tables and formatted text come with a picture of themselves: what is pasted then is the text. */
  const paste = (data: DataTransfer | null) => !(data?.types.includes('text/html') && data.types.includes('text/plain')) && take(data)
  return { text, field, chosen, uploads, attachments, empty, blocked, canSend, tokens, send, attach, detach, take, paste }
}

export type Composer = ReturnType<typeof createComposer>
const COMPOSER: InjectionKey<Composer> = Symbol('composer')
export const provideComposer = (composer: Composer): void => provide(COMPOSER, composer)
export function useComposer(): Composer {
  const composer = inject(COMPOSER)
  if (!composer) throw new Error('useComposer needs a conversation page above it')
  return composer
}
