import { useMutation, useQuery, useQueryClient } from '@tanstack/vue-query'
import { useI18n } from 'vue-i18n'
import { keys } from '@/api/keys'
import * as api from '@/api/providers'
import { useToasts } from '@/stores/toasts'
import { useErrorText } from './useErrorText'

/** Model providers: the list, servers found on this machine, and changing them. */
export function useProviders() {
  const client = useQueryClient()
  const toasts = useToasts()
  const words = useErrorText()
  const { t } = useI18n()
  const refresh = () => client.invalidateQueries({ queryKey: keys.models })
  const onError = (error: unknown) => void toasts.fail(words(error))
  const list = useQuery({ queryKey: keys.providers, queryFn: api.listProviders, select: (page) => page.items })
  const found = useQuery({ queryKey: keys.foundServers, queryFn: api.listFoundServers, select: (page) => page.items, retry: false })
  /** Errors of these two belong to the form that asked. */
  const save = useMutation({
    mutationFn: ({ id, input }: { id: string | null; input: api.ProviderInput }) => (id ? api.patchProvider(id, input) : api.createProvider(input)),
    onSuccess: refresh,
  })
  const add = useMutation({
    mutationFn: (server: api.FoundServer) => api.createProvider({ name: server.name, kind: 'openai', base_url: server.base_url, models: server.models }),
    onSuccess: (made) => {
      toasts.show(t('settings.added', { name: made.name }))
      return refresh()
    },
    onError,
  })
  const enable = useMutation({ mutationFn: ({ id, enabled }: { id: string; enabled: boolean }) => api.patchProvider(id, { enabled }), onSuccess: refresh, onError })
  const remove = useMutation({ mutationFn: api.deleteProvider, onSuccess: refresh, onError })
  return { list, found, save, add, enable, remove }
}
