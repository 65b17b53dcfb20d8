import { json, page, problem, type Handlers } from '..'
import { db, newId, now, publish } from '../db'

const find = (id: string) => db.projects.find((project) => project.id === id && !project.deleted_at)

export const projectHandlers: Handlers = {
  'GET /api/projects': ({ url }) => {
    const shelf = url.searchParams.get('archived') ?? 'false'
    const gone = url.searchParams.get('deleted') === 'true'
    return page(db.projects.filter((project) => Boolean(project.deleted_at) === gone && (gone || shelf === 'any' || Boolean(project.archived) === (shelf === 'true'))))
  },
  'POST /api/projects': async (request) => {
    const body = await request.json()
    const project = { id: newId('p'), name: String(body.name), description: String(body.description ?? ''), instructions: '', pinned: false, archived: false, created_at: now(), updated_at: now() }
    db.projects.unshift(project)
    publish('project', project.id)
    return json(project, 201)
  },
  'GET /api/projects/:id': ({ params }) => (find(params.id!) ? json(find(params.id!)) : problem(404, 'not_found', 'There is no such project.')),
  'PATCH /api/projects/:id': async (request) => {
    const project = find(request.params.id!)
    if (!project) return problem(404, 'not_found', 'There is no such project.')
    Object.assign(project, await request.json(), { updated_at: now() })
    publish('project', project.id)
    return json(project)
  },
  'DELETE /api/projects/:id': ({ params, url }) => {
    if (url.searchParams.has('for_good')) db.projects = db.projects.filter((other) => other.id !== params.id || !other.deleted_at)
    const project = find(params.id!)
    if (project) project.deleted_at = now()
    publish('project', params.id!)
    return json(null, 204)
  },
  'POST /api/projects/:id/restore': ({ params }) => {
    const project = db.projects.find((other) => other.id === params.id)
    if (project) project.deleted_at = null
    publish('project', params.id!)
    return json(project)
  },
}
