import { useQuery } from '@tanstack/vue-query'
import { keys } from '@/api/keys'
import { listTools } from '@/api/tools'

/** All tools, with what is allowed. */
export const useTools = () => useQuery({ queryKey: keys.tools, queryFn: listTools, select: (page) => page.items })
