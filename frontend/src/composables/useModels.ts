import { useQuery } from '@tanstack/vue-query'
import { keys } from '@/api/keys'
import { listModels } from '@/api/models'

const MODELS_FRESH_MS = 60_000

/** Models on offer; an empty list means that the server decides. */
export const useModels = () => useQuery({ queryKey: keys.models, queryFn: listModels, staleTime: MODELS_FRESH_MS })
