import { readdirSync, readFileSync } from 'node:fs'
import { baseCompile } from '@intlify/message-compiler'
import type { Plugin } from 'vite'

const PREFIX = 'virtual:messages/'

/** A message as JavaScript: plain text stays text, anything with a placeholder becomes a function. */
function compile(text: string): string {
  if (!/[{}@|]/.test(text)) return JSON.stringify(text)
  return baseCompile(text, { mode: 'arrow', onError: (error) => { throw new Error(`${error.message} in “${text}”`) } }).code
}

function moduleOf(tree: Record<string, unknown>): string {
  const entries = Object.entries(tree).map(([key, value]) => `${JSON.stringify(key)}:${typeof value === 'string' ? compile(value) : moduleOf(value as Record<string, unknown>)}`)
  return `{${entries.join(',')}}`
}

/**
 * Compiles the messages of a language at build time, so that the browser needs no message compiler (nor eval).
 * `virtual:messages/en` is every JSON file of `src/i18n/en/`; a file's name is the first part of its keys.
 */
export function messages(folder: string): Plugin {
  return {
    name: 'messages',
    resolveId: (id) => (id.startsWith(PREFIX) ? `\0${id}` : undefined),
    load(id) {
      if (!id.startsWith(`\0${PREFIX}`)) return undefined
      const language = `${folder}/${id.slice(PREFIX.length + 1)}`
      const files = readdirSync(language).filter((name) => name.endsWith('.json')).sort()
      const parts = files.map((name) => {
        this.addWatchFile(`${language}/${name}`)
        return `${JSON.stringify(name.slice(0, -5))}:${moduleOf(JSON.parse(readFileSync(`${language}/${name}`, 'utf8')) as Record<string, unknown>)}`
      })
      return `export default {${parts.join(',')}}`
    },
  }
}
