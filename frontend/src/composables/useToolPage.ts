import { useMutation, useQuery, useQueryClient } from '@tanstack/vue-query'
import { computed } from 'vue'
import { useI18n } from 'vue-i18n'
import { useRoute, useRouter } from 'vue-router'
import { keys } from '@/api/keys'
import { listTools, patchTool, reloadTools } from '@/api/tools'
import type { Tool } from '@/api/types'
import { useToasts } from '@/stores/toasts'
import { useErrorText } from './useErrorText'
import { useSession } from './useSession'

export type ToolState = 'on' | 'off' | 'denied' | 'broken' | 'no_key' | 'degraded'
export function toolState(tool: Tool): ToolState {
  if (tool.error) return 'broken'
  if (!tool.enabled) return 'off'
  if (tool.policy === 'deny') return 'denied'
  return tool.lacks === 'no_key' ? 'no_key' : tool.lacks ? 'degraded' : 'on'
}

/** The tools by category, the one that is open (in the URL), and what an administrator may change. */
export function useToolPage() {
  const client = useQueryClient()
  const route = useRoute()
  const router = useRouter()
  const toasts = useToasts()
  const words = useErrorText()
  const session = useSession()
  const { t, te } = useI18n()
  const query = useQuery({ queryKey: keys.tools, queryFn: listTools })
  const tools = computed(() => query.data.value?.items ?? [])
  const fileErrors = computed(() => query.data.value?.file_errors ?? [])
  const groups = computed(() => {
    const byCategory = new Map<string, Tool[]>()
    for (const tool of tools.value) byCategory.set(tool.category, [...(byCategory.get(tool.category) ?? []), tool])
    return [...byCategory].sort(([a], [b]) => a.localeCompare(b))
  })
  const open = computed(() => tools.value.find((tool) => tool.name === route.query.tool) ?? null)
  const show = (name: string | null) => router.replace({ query: name ? { ...route.query, tool: name } : { ...route.query, tool: undefined } })
  const isAdmin = computed(() => session.data.value?.user.role !== 'user')
  const refresh = () => client.invalidateQueries({ queryKey: keys.tools })
  const onError = (error: unknown) => void toasts.fail(words(error))
  const change = useMutation({ mutationFn: ({ name, input }: { name: string; input: Parameters<typeof patchTool>[1] }) => patchTool(name, input), onSuccess: refresh, onError })
  const reload = useMutation({
    mutationFn: reloadTools,
    onSuccess: (answer) => {
      toasts.show(t('tools.reloaded', { n: answer.tools }, answer.tools))
      return refresh()
    },
    onError,
  })
  const category = (name: string): string => (te(`tools.category_${name}`) ? t(`tools.category_${name}`) : name)
  return { query, groups, fileErrors, open, show, isAdmin, change, reload, category }
}
