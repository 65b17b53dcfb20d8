import { json, problem, type Handlers } from '..'
import { db, subscribe } from '../db'
import { eventStream, sse } from '../sse'

export const authHandlers: Handlers = {
  'GET /healthz': () => json({ status: 'ok' }),
  'GET /readyz': () => json({ status: 'ok' }),
  'GET /api/auth/mode': () => json({ mode: 'single', signed_in: db.signedIn }),
  'GET /api/auth/me': () => (db.signedIn ? json(db.me) : problem(401, 'not_signed_in', 'Run run.py link')),
  'PATCH /api/auth/me': async (request) => {
    const body = await request.json()
    Object.assign(db.me.settings, body.settings)
    return json(db.me)
  },
  'POST /api/auth/logout': () => {
    db.signedIn = false
    return json(null, 204)
  },
  'GET /api/events': (request) =>
    eventStream(request.signal, (send) => subscribe((changed) => send(sse('changed', changed)))),
}
