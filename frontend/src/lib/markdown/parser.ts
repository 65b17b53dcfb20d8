import DOMPurify from 'dompurify'
import createMarkdownIt, { type MarkdownIt, type RendererRule, type Token } from 'markdown-it'
import { addMath } from './math'

/** Markdown to safe HTML. Two walls: markdown-it passes no HTML through, and DOMPurify checks what came out. */

export interface Env {
  projectId?: string | null
  /** Called when a source defines a link by name. */
  onDefinition?: () => void
  [key: PropertyKey]: unknown
}

const TAGS = [
  'p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'pre', 'code', 'em', 'strong', 's', 'a', 'br', 'hr', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'img', 'div', 'span',
]
const ATTRIBUTES = ['href', 'title', 'class', 'start', 'src', 'alt', 'target', 'rel', 'loading', 'tabindex', 'scope']
const REMOTE = /^(?:https?:)?\/\//i
const SAFE_URL = /^(?:https?:|mailto:|tel:|\/|#|[^:]*$)/i

/** As it is where the percent signs are no UTF-8. */
function decoded(uri: string): string {
  try {
    return decodeURI(uri)
  } catch {
    return uri
  }
}

function createParser(): MarkdownIt {
  const md = new createMarkdownIt({ html: false, linkify: true, breaks: false, typographer: false })
  const { rules } = md.renderer
  const plain: RendererRule = (tokens, at, options, _env, self) => self.renderToken(tokens, at, options)

  rules.link_open = (tokens, at, options, env, self) => {
    tokens[at]!.attrSet('target', '_blank')
    tokens[at]!.attrSet('rel', 'noopener noreferrer')
    return plain(tokens, at, options, env, self)
  }
  // The page's CSP drops style attributes, so alignment becomes a class.
  const aligned: RendererRule = (tokens, at, options, env, self) => {
    const token = tokens[at]!
    const align = /text-align:(\w+)/.exec(String(token.attrGet('style') ?? ''))?.[1]
    token.attrs = align ? [['class', `align-${align}`]] : null
    if (token.tag === 'th') token.attrPush(['scope', 'col'])
    return plain(tokens, at, options, env, self)
  }
  rules.th_open = aligned
  rules.td_open = aligned
  rules.table_open = () => '<div class="table-scroll" tabindex="0"><table>\n'
  rules.table_close = () => '</table></div>\n'
  rules.image = (tokens, at, _options, env) => {
    const token = tokens[at]!
    const source = String(token.attrGet('src') ?? '')
    const alt = md.utils.escapeHtml(token.content)
    const { projectId } = (env ?? {}) as Env
    if (projectId && !REMOTE.test(source) && !/^[a-z]+:/i.test(source)) {
      const path = new URLSearchParams({ path: decoded(source).replace(/^\.?\//, '') })
      return `<img loading="lazy" alt="${alt}" src="/api/projects/${encodeURIComponent(projectId)}/files/content?${md.utils.escapeHtml(path.toString())}">`
    }
    // A remote picture would tell its server who reads this: it opens by a click only.
    return `<a class="remote-image" target="_blank" rel="noopener noreferrer" href="${md.utils.escapeHtml(source)}">${alt || md.utils.escapeHtml(source)}</a>`
  }
  addMath(md)
  return md
}

const md = createParser()

/** Cleans rendered HTML: a short list of tags and attributes, no styles, no scripts, no other URLs. */
export function sanitize(html: string): string {
  return DOMPurify.sanitize(html, { ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ATTRIBUTES, ALLOWED_URI_REGEXP: SAFE_URL, ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false })
}

export type BlockKind = 'html' | 'code' | 'table'

/** One top-level piece of a text. `line` is where it begins, counted from the start of the parsed source. */
export interface RawBlock {
  kind: BlockKind
  line: number
  html: string
  code: string
  language: string
  closed: boolean
}

function isClosed(token: Token, lines: string[]): boolean {
  if (!token.map) return true
  const last = lines[token.map[1] - 1] ?? ''
  return token.map[1] - token.map[0] > 1 && last.trim().startsWith(token.markup) && /^\s*(`{3,}|~{3,})\s*$/.test(last)
}

function blockOf(tokens: Token[], lines: string[], env: Env): RawBlock {
  const first = tokens[0]!
  const base = { line: first.map?.[0] ?? 0, html: '', code: '', language: '', closed: true }
  if (first.type === 'fence') {
    return { ...base, kind: 'code', code: first.content, language: first.info.trim().split(/\s+/)[0]?.toLowerCase() ?? '', closed: isClosed(first, lines) }
  }
  if (first.type === 'code_block') return { ...base, kind: 'code', code: first.content }
  return { ...base, kind: first.type === 'table_open' ? 'table' : 'html', html: sanitize(md.renderer.render(tokens, md.options, env)) }
}

function topLevel(tokens: Token[]): Token[][] {
  const groups: Token[][] = []
  let depth = 0
  for (const token of tokens) {
    if (depth === 0) groups.push([])
    groups.at(-1)!.push(token)
    depth += token.nesting
  }
  return groups
}

/** All top-level blocks of a source. */
export function parseBlocks(source: string, env: Env = {}): RawBlock[] {
  const lines = source.split('\n')
  // A fresh copy each time: markdown-it keeps the link definitions it meets in the environment.
  const own: Env = { ...env }
  const tokens = md.parse(source, own)
  if (own.references && Object.keys(own.references).length) env.onDefinition?.()
  return topLevel(tokens).map((group) => blockOf(group, lines, own))
}

/** The lines at which top-level blocks begin; cheaper than parseBlocks as inline text is not looked at. */
export function blockStarts(source: string): number[] {
  const state = new md.block.State(source, md, {}, [])
  md.block.tokenize(state, state.line, state.lineMax)
  return topLevel(state.tokens).map((tokens) => tokens[0]!.map?.[0] ?? 0)
}
