import { useQuery } from '@tanstack/vue-query'
import { computed, type Ref } from 'vue'
import { useI18n } from 'vue-i18n'
import { keys } from '@/api/keys'
import { listModels } from '@/api/models'

const MODELS_FRESH_MS = 60_000

/** Models on offer; an empty list means that the server decides. */
export const useModels = () => useQuery({ queryKey: keys.models, queryFn: listModels, staleTime: MODELS_FRESH_MS })

/** The models to choose from, with the usual one first (null leaves the choice to the server), and the chosen one's name. */
export function useModelOptions(model: Ref<string | null>) {
  const { t } = useI18n()
  const { data: models } = useModels()
  const usual = computed(() => models.value?.find((item) => item.default))
  const options = computed(() => {
    const known = (models.value ?? []).filter((item) => item !== usual.value).map((item) => ({ value: item.id as string | null, label: item.name ?? item.id }))
    const own = model.value && !known.some((item) => item.value === model.value) ? [{ value: model.value, label: model.value }] : []
    const first = usual.value ? t('chat.usualModel', { name: usual.value.name ?? usual.value.id }) : t('chat.demoModel')
    return [{ value: null, label: first }, ...own, ...known]
  })
  const chosen = computed(() => options.value.find((option) => option.value === model.value)?.label)
  return { options, chosen }
}
