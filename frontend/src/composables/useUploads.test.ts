import { QueryClient, VueQueryPlugin } from '@tanstack/vue-query'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createApp, nextTick, ref } from 'vue'
import { keys } from '@/api/keys'
import { i18n } from '@/i18n'
import { useUploads } from './useUploads'

/** The network as the queue sees it: each request waits until the test answers it. */
class Request {
  static all: Request[] = []
  upload: { onprogress?: (event: object) => void } = {}
  onload?: () => void
  onerror?: () => void
  onabort?: () => void
  status = 0
  response: unknown
  url = new URL('http://test/')
  name = ''
  constructor() {
    Request.all.push(this)
  }
  open(_method: string, url: string) {
    this.url = new URL(url, 'http://test')
  }
  setRequestHeader() {}
  send(form: FormData) {
    this.name = (form.get('file') as File).name
  }
  abort() {
    this.onabort?.()
  }
  answer(status: number, response: object) {
    Object.assign(this, { status, response })
    this.onload?.()
  }
}

function setup(ask: boolean, project = ref('p1'), queryClient = new QueryClient()) {
  let uploads!: ReturnType<typeof useUploads>
  const app = createApp({ setup: () => ((uploads = useUploads(project, { ask })), () => null) })
  app.use(VueQueryPlugin, { queryClient }).use(i18n).mount(document.createElement('div'))
  return uploads
}
const file = (name: string, path = '') => Object.defineProperty(new File(['x'], name), 'webkitRelativePath', { value: path })
const settled = async () => {
  await nextTick()
  await new Promise((resolve) => setTimeout(resolve))
}

beforeEach(() => {
  Request.all = []
  vi.stubGlobal('XMLHttpRequest', Request)
})
afterEach(() => vi.unstubAllGlobals())

describe('the upload queue', () => {
  it('sends three at a time, and the next when one is done', async () => {
    const uploads = setup(false)
    uploads.add(['a', 'b', 'c', 'd', 'e'].map((name) => file(name)))
    expect(Request.all.map((request) => request.name)).toEqual(['a', 'b', 'c'])
    Request.all[0]!.answer(201, { path: 'a' })
    await settled()
    expect(Request.all.map((request) => request.name)).toEqual(['a', 'b', 'c', 'd'])
    expect(uploads.items.value[0]).toMatchObject({ state: 'done', path: 'a', fraction: 1 })
  })

  it('puts a whole folder under where it was dropped', () => {
    setup(false).add([file('c.txt', 'raw/deep/c.txt')], { folder: 'data' })
    expect(Request.all[0]!.url.searchParams.get('path')).toBe('data/raw/deep')
  })

  it('tells progress, and a failure that can be tried again', async () => {
    const uploads = setup(false)
    uploads.add([file('a')])
    Request.all[0]!.upload.onprogress!({ lengthComputable: true, loaded: 1, total: 4 })
    expect(uploads.items.value[0]!.fraction).toBe(0.25)
    Request.all[0]!.answer(413, { code: 'too_large', detail: 'Too large.' })
    await settled()
    expect(uploads.items.value[0]).toMatchObject({ state: 'failed', error: 'Too large.' })
    uploads.retry(uploads.items.value[0]!)
    Request.all[1]!.answer(201, { path: 'a' })
    await settled()
    expect(uploads.items.value[0]!.state).toBe('done')
    expect(uploads.busy.value).toBe(false)
  })

  it('cancels one without touching the others', async () => {
    const uploads = setup(false)
    uploads.add([file('a'), file('b')])
    uploads.items.value[0]!.controller.abort()
    await settled()
    expect(uploads.items.value.map((item) => item.state)).toEqual(['cancelled', 'running'])
  })
})

describe('a page that shows another project meanwhile', () => {
  it('leaves the waiting files on their way to the project they were given to', async () => {
    const project = ref('p1')
    const client = new QueryClient()
    const stale = vi.spyOn(client, 'invalidateQueries')
    const uploads = setup(false, project, client)
    uploads.add(['a', 'b', 'c', 'd'].map((name) => file(name)))
    project.value = 'p2'
    for (const request of Request.all) request.answer(201, { path: request.name })
    await settled()
    uploads.add([file('e')])
    Request.all[3]!.answer(201, { path: 'd' })
    await settled()
    expect(Request.all.map((request) => request.url.pathname.split('/')[3])).toEqual(['p1', 'p1', 'p1', 'p1', 'p2'])
    expect(stale.mock.calls.map(([filters]) => (filters as { queryKey: unknown }).queryKey)).toEqual([keys.files('p1')])
  })
})

describe('a name that is taken', () => {
  async function clash() {
    const uploads = setup(true)
    uploads.add([file('a'), file('b'), file('c')])
    for (const request of Request.all) request.answer(409, { code: 'file_conflict', detail: 'There.' })
    await settled()
    return uploads
  }

  it('waits for an answer', async () => {
    const uploads = await clash()
    expect(Request.all[0]!.url.searchParams.get('on_conflict')).toBe('fail')
    expect(uploads.clashes.value.map((item) => item.name)).toEqual(['a', 'b', 'c'])
    expect(uploads.busy.value).toBe(false)
  })

  it('is answered for one, or for all', async () => {
    const uploads = await clash()
    uploads.answer('replace', uploads.clashes.value.slice(0, 1))
    uploads.answer('keep_both', uploads.clashes.value)
    expect(Request.all.slice(3).map((request) => [request.name, request.url.searchParams.get('on_conflict')])).toEqual([['a', 'replace'], ['b', 'keep_both'], ['c', 'keep_both']])
  })

  it('can be skipped', async () => {
    const uploads = await clash()
    uploads.answer('skip', uploads.clashes.value)
    expect(uploads.items.value).toEqual([])
  })

  it('never asks where nobody is there to answer', () => {
    setup(false).add([file('a')])
    expect(Request.all[0]!.url.searchParams.get('on_conflict')).toBe('keep_both')
  })
})
