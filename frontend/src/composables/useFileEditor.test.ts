import { QueryClient, VueQueryPlugin } from '@tanstack/vue-query'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createApp } from 'vue'
import { keys } from '@/api/keys'
import { i18n } from '@/i18n'
import { MOST_TEXT_BYTES } from '@/lib/fileKind'
import { useFileEditor } from './useFileEditor'

/** A server with one file: ETags, If-Match, and a log of what was written. */
const server = { text: 'one\n' as string | null, version: 1, writes: [] as string[] }
const etag = () => `"${server.version}"`

async function answer(_url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers)
  if (init.method === 'GET' && _url.includes('/changes')) return Response.json({ items: [{ run_id: 'run1' }], next_cursor: null })
  if (init.method === 'GET' && server.text === null) return Response.json({ code: 'not_found', detail: 'Gone.' }, { status: 404 })
  if (init.method === 'GET') return new Response(server.text, { headers: { ETag: etag(), 'Content-Length': String(new TextEncoder().encode(server.text!).length) } })
  if (headers.get('If-None-Match') === '*' ? server.text !== null : server.text === null) return Response.json({ code: 'precondition_failed', detail: 'Changed.' }, { status: 412 })
  if (headers.has('If-Match') && headers.get('If-Match') !== etag()) return Response.json({ code: 'precondition_failed', detail: 'Changed.' }, { status: 412 })
  server.text = String(init.body)
  server.version += 1
  server.writes.push(server.text)
  return new Response('{}', { headers: { ETag: etag() } })
}
const elsewhere = (text: string | null) => Object.assign(server, { text, version: server.version + 1 })

const client = new QueryClient({ defaultOptions: { queries: { retry: false } } })
async function open() {
  let editor!: ReturnType<typeof useFileEditor>
  const app = createApp({ setup: () => ((editor = useFileEditor(() => 'p1', () => 'a.txt')), () => null) })
  app.use(VueQueryPlugin, { queryClient: client }).use(i18n).mount(document.createElement('div'))
  await vi.waitUntil(() => editor.base.value !== null)
  return editor
}
const hearOfChange = () => client.invalidateQueries({ queryKey: keys.files('p1') })

beforeEach(() => {
  client.clear()
  Object.assign(server, { text: 'one\n', version: 1, writes: [] })
  vi.stubGlobal('fetch', answer)
})
afterEach(() => vi.unstubAllGlobals())

describe('a file being edited', () => {
  it('is saved against the version that was read', async () => {
    const editor = await open()
    expect(editor.dirty.value).toBe(false)
    editor.text.value = 'two\n'
    expect(editor.dirty.value).toBe(true)
    await editor.save()
    editor.text.value = 'three\n'
    await editor.save()
    expect(server.writes).toEqual(['two\n', 'three\n'])
    expect(editor.dirty.value).toBe(false)
  })

  it('follows changes made elsewhere while nothing was written', async () => {
    const editor = await open()
    elsewhere('agent\n')
    await hearOfChange()
    expect(editor.text.value).toBe('agent\n')
    expect(editor.theirs.value).toBeNull()
  })

  it('is never overwritten, nor overwrites, without a word', async () => {
    const editor = await open()
    editor.text.value = 'mine\n'
    elsewhere('agent\n')
    await editor.save()
    expect(server.writes).toEqual([])
    expect(editor.theirs.value?.text).toBe('agent\n')
    expect(editor.text.value).toBe('mine\n')
    await vi.waitUntil(() => editor.theirRun.value === 'run1')
    await editor.keepMine()
    expect(server.writes).toEqual(['mine\n'])
    expect(editor.theirs.value).toBeNull()
  })

  it('tells of a change before it is saved, and can take it', async () => {
    const editor = await open()
    editor.text.value = 'mine\n'
    elsewhere('agent\n')
    await hearOfChange()
    expect(editor.theirs.value?.text).toBe('agent\n')
    editor.takeTheirs()
    expect([editor.text.value, editor.dirty.value, server.writes]).toEqual(['agent\n', false, []])
  })

  it('cannot be edited when its bytes are no text', async () => {
    server.text = 'a\uFFFDb'
    const editor = await open()
    editor.text.value = 'changed'
    await editor.save()
    expect([editor.readOnly.value, server.writes]).toEqual([true, []])
  })

  it('that is deleted meanwhile keeps what was written, and can be saved as a new one', async () => {
    for (const hear of [hearOfChange, (editor: ReturnType<typeof useFileEditor>) => editor.save()]) {
      client.clear()
      Object.assign(server, { text: 'one\n', version: 1, writes: [] })
      const editor = await open()
      editor.text.value = 'mine\n'
      elsewhere(null)
      await hear(editor)
      expect([editor.gone.value, editor.text.value]).toEqual([true, 'mine\n'])
      await editor.save()
      expect([editor.gone.value, editor.dirty.value, server.text]).toEqual([false, false, 'mine\n'])
    }
  })

  it('keeps its byte order mark', async () => {
    server.text = '\uFEFFa\n'
    const editor = await open()
    editor.text.value += 'b\n'
    await editor.save()
    expect(server.text).toBe('\uFEFFa\nb\n')
  })

  it('is not loaded when it is too big', async () => {
    server.text = 'x'.repeat(MOST_TEXT_BYTES + 1)
    const editor = await open()
    expect([editor.base.value?.big, editor.text.value, editor.readOnly.value]).toEqual([true, '', true])
  })
})
