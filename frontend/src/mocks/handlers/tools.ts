import { json, page, problem, type Handlers } from '..'
import { makeCall } from '../calls'
import { db } from '../db'

export const toolHandlers: Handlers = {
  'GET /api/tools': () => page(db.tools),
  'PATCH /api/tools/:name': async (request) => {
    const tool = db.tools.find((other) => other.name === request.params.name)
    if (!tool) return problem(404, 'not_found', 'There is no such tool.')
    return json(Object.assign(tool, await request.json()))
  },
  'POST /api/tools/reload': () => json({ tools: db.tools.length, errors: [] }),
  'POST /api/tools/:name/execute': async (request) => {
    const body = await request.json()
    return json(makeCall(request.params.name!, body.arguments as object, 0))
  },
  'GET /api/models': () =>
    json({ items: [
      { id: 'offline', name: 'Offline demo', provider: 'offline', context_window: 32000, images: false, default: true },
      { id: 'qwen3-coder', name: 'qwen3-coder', provider: 'local', context_window: 128000, images: false },
    ], next_cursor: null }),
  'GET /api/search': ({ url }) => {
    const text = (url.searchParams.get('q') ?? '').toLowerCase()
    const inside = url.searchParams.get('conversation_id')
    const hits = db.messages.filter((message) => message.state === 'sent' && (!inside || message.conversation_id === inside) && message.content.toLowerCase().includes(text)).reverse().slice(0, inside ? 200 : 20)
    return page(hits.map((message) => {
      const conversation = db.conversations.find((other) => other.id === message.conversation_id)
      return { type: 'message', id: message.id, conversation_id: message.conversation_id, project_id: conversation?.project_id ?? null, title: conversation?.title, snippet: message.content.slice(0, 140) }
    }))
  },
}
