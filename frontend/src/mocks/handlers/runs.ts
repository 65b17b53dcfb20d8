import type { Message, Run, Step } from '@/api/types'
import { json, page, problem, type Handlers } from '..'
import { db } from '../db'
import { DEMO_RUN, demoSteps } from '../fixtures/runs'
import { cancelScript, follow } from '../script'
import { eventStream, sse } from '../sse'

const find = (id: string) => db.runs.find((run) => run.id === id)

function stepsOf(run: Run): Step[] {
  if (run.id === DEMO_RUN) return demoSteps
  const answer = db.messages.find((message: Message) => message.run_id === run.id && message.role === 'assistant')
  const calls = answer?.tool_calls ?? []
  const count = Math.max(0, ...calls.map((call) => call.step)) + 1
  return Array.from({ length: count }, (_, index) => ({
    index, status: 'completed', reasoning: index ? '' : (answer?.reasoning ?? ''), text: '', finish_reason: 'stop', model: run.model, model_calls: 1, usage: run.usage,
    tool_calls: calls.filter((call) => call.step === index), started_at: run.started_at ?? run.created_at, finished_at: run.finished_at,
  }))
}

export const runHandlers: Handlers = {
  'GET /api/runs': ({ url }) => {
    const wanted = ['project_id', 'conversation_id', 'status', 'kind', 'parent_run_id'].map((name) => [name, url.searchParams.get(name)] as const)
    const helpers = url.searchParams.has('parent_run_id') || url.searchParams.get('kind') === 'child'
    return page(db.runs.filter((run) => helpers || run.kind !== 'child').map((run) => ({ ...run, call_count: stepsOf(run).flatMap((step) => step.tool_calls).length, failure_count: stepsOf(run).flatMap((step) => step.tool_calls).filter((call) => call.status === 'error').length })).filter((run) => wanted.every(([name, value]) => !value || (run as unknown as Record<string, unknown>)[name] === value)))
  },
  'GET /api/runs/:id': ({ params }) => (find(params.id!) ? json(find(params.id!)) : problem(404, 'not_found', 'There is no such run.')),
  'GET /api/runs/:id/steps': ({ params }) => (find(params.id!) ? page(stepsOf(find(params.id!)!)) : problem(404, 'not_found', 'There is no such run.')),
  'GET /api/runs/:id/calls/:call/result': ({ params }) => {
    const call = db.messages.flatMap((message) => message.tool_calls).find((other) => other.id === params.call)
    return new Response(call?.result ?? '{}')
  },
  'GET /api/runs/:id/calls/:call/context': ({ params }) => page([{ key: 'project_id', argument: 'project_id', value: 'p1', name: 'Sales' }, { key: 'run_id', argument: '_run_id', value: params.id, name: null }, { key: 'cancelled', argument: '_cancelled', value: null, name: null }]),
  'POST /api/runs/:id/cancel': ({ params }) => json(cancelScript(params.id!)),
  'GET /api/runs/:id/events': (request) =>
    eventStream(request.signal, (send, close) => {
      const after = Number(request.headers.get('Last-Event-ID') ?? request.url.searchParams.get('after') ?? 0)
      return follow(request.params.id!, after, (event) => {
        send(sse(event.type, { run_id: request.params.id, ...event.data }, event.id))
        if (event.type === 'run.finished') close()
      })
    }),
}
