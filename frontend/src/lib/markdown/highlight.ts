import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import go from 'highlight.js/lib/languages/go'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import python from 'highlight.js/lib/languages/python'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'

/** Twelve languages; a chunk of its own, loaded when the first finished code block is seen. */
Object.entries({ bash, css, diff, go, java, javascript, json, python, sql, typescript, xml, yaml }).forEach(([name, language]) =>
  hljs.registerLanguage(name, language),
)
hljs.registerAliases(['vue', 'svg'], { languageName: 'xml' })

const MOST_CHARS = 60_000
const CACHED = 200
const cache = new Map<string, string>()

/** Code as HTML of spans; null if the language is unknown or the code too long. The code is escaped by highlight.js. */
export function highlight(code: string, language: string): string | null {
  if (!hljs.getLanguage(language) || code.length > MOST_CHARS) return null
  const key = `${language}\n${code}`
  const known = cache.get(key)
  if (known !== undefined) return known
  const html = hljs.highlight(code, { language, ignoreIllegals: true }).value
  cache.set(key, html)
  if (cache.size > CACHED) cache.delete(cache.keys().next().value!)
  return html
}
