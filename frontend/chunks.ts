import { fileURLToPath, URL } from 'node:url'

interface Graph {
  getModuleInfo: (id: string) => { importedIds: readonly string[] } | null
}

const FIRST_PAGE = fileURLToPath(new URL('./src/views/ConversationView.vue', import.meta.url))
const OWN = /[\\/]src[\\/](?!.*markdown)/

/**
 * The chunk of what the conversation page and other pages share: only what the conversation needs anyway, so that
 * other pages never make the first load bigger. Markdown stays apart, as pages with no text do not need it. Walks the static imports once per build.
 */
export function firstLoadShare(): (id: string, graph: Graph) => string | null {
  let needed: Set<string> | null = null
  function walk(graph: Graph): Set<string> {
    const seen = new Set<string>()
    const open = [FIRST_PAGE]
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (seen.has(id)) continue
      seen.add(id)
      open.push(...(graph.getModuleInfo(id)?.importedIds ?? []))
    }
    return seen
  }
  return (id, graph) => {
    needed ??= walk(graph)
    return OWN.test(id) && needed.has(id) ? 'shared' : null
  }
}
