import { afterEach, describe, expect, it, vi } from 'vitest'
import { routeTo } from '.'

/** Uploads go through XMLHttpRequest, whatever their address (uploads.ts); the others have no addresses of their own. */
const LEFT_OUT = /\/(upload|client|problem|queryClient|keys|types)\.ts$/
const modules = import.meta.glob<Record<string, unknown>>(['/src/api/*.ts', '!/src/api/*.test.ts'], { eager: true })
const calls = Object.entries(modules)
  .filter(([path]) => !LEFT_OUT.test(path))
  .flatMap(([path, exported]) => Object.entries(exported).map(([name, value]) => [`${path.split('/').at(-1)} ${name}`, value] as const))
const FILE = new File(['{}'], 'a.json')

/** What a function asks for, or the address that it gives. */
async function addressesOf(value: unknown): Promise<string[]> {
  const asked: string[] = []
  vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
    asked.push(`${init.method} ${new URL(url, location.origin).pathname}`)
    return Promise.resolve(Response.json({ items: [], next_cursor: null }))
  })
  const answer: unknown = typeof value === 'function' ? await (value as (...given: unknown[]) => unknown)(value.name.startsWith('import') ? FILE : 'one', 'two', 'three') : value
  if (typeof answer === 'string' && !asked.length) asked.push(`GET ${answer.split('?')[0]}`)
  return asked
}
afterEach(() => vi.unstubAllGlobals())

describe('the mocked server', () => {
  it.each(calls)('answers %s', async (_name, value) => {
    const asked = await addressesOf(value)
    expect(asked).not.toEqual([])
    expect(asked.filter((address) => !routeTo(...(address.split(' ') as [string, string])))).toEqual([])
  })

  it('is asked by every function that talks to the server', () => {
    expect(calls.length).toBeGreaterThan(60)
  })
})
