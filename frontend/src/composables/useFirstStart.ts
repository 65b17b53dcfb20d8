import { useQueryClient } from '@tanstack/vue-query'
import { ref } from 'vue'
import { useI18n } from 'vue-i18n'
import { useRouter } from 'vue-router'
import { createConversation, sendMessage } from '@/api/conversations'
import { keys } from '@/api/keys'
import { conversationLink } from '@/router/links'
import { useToasts } from '@/stores/toasts'
import { useErrorText } from './useErrorText'
import { useCreateProject } from './useProjects'

/** The first task of a new user: a project, a conversation in it, and the task already running. */
export function useFirstStart() {
  const { t } = useI18n()
  const router = useRouter()
  const toasts = useToasts()
  const client = useQueryClient()
  const words = useErrorText()
  const create = useCreateProject()
  const starting = ref(false)

  async function start(wish: { name: string; model: string | null; text: string }): Promise<void> {
    starting.value = true
    try {
      const project = await create.mutateAsync({ name: wish.name })
      const conversation = await createConversation({ project_id: project.id, model: wish.model })
      await sendMessage(conversation.id, { content: wish.text, client_id: crypto.randomUUID() })
      void client.invalidateQueries({ queryKey: keys.conversations })
      await router.push(conversationLink(conversation))
    } catch (error) {
      toasts.fail(`${t('home.failed')} ${words(error)}`)
    } finally {
      starting.value = false
    }
  }
  return { start, starting }
}
