import type { MarkdownIt } from 'markdown-it'

/**
 * Finds formulas: `$…$`, `$$…$$`, `\(…\)` and `\[…\]`, never in code. What is found is marked and stays text;
 * mathml.ts makes MathML of it once its block is complete.
 */
const SIGNS = /[\\^_=+<>]/
const WORDS = /\p{L}{3}|[^\p{ASCII}]{2}/u
/** Money, names of variables and brackets that were escaped for Markdown's sake are no formulas. */
const looksLikeMath = (text: string): boolean => SIGNS.test(text) || !WORDS.test(text)

interface Found {
  source: string
  display: boolean
}

function dollars(text: string, at: number): Found | null {
  if (text.startsWith('$$', at)) {
    const end = text.indexOf('$$', at + 2)
    return end > at + 2 && text.slice(at + 2, end).trim() ? { source: text.slice(at, end + 2), display: true } : null
  }
  // The rule of Pandoc: no space inside the signs, no digit after them.
  const [source, inner] = /^\$((?:[^$\\`]|\\[^`])+)\$(?!\d)/.exec(text.slice(at)) ?? []
  return source && inner && !/^\s|\s$/.test(inner) && looksLikeMath(inner) ? { source, display: false } : null
}
function brackets(text: string, at: number): Found | null {
  const display = text[at + 1] === '['
  const end = text.indexOf(display ? '\\]' : '\\)', at + 2)
  const inner = end < 0 ? '' : text.slice(at + 2, end)
  const found = inner.trim() && !inner.includes('`') && (display ? SIGNS.test(inner) : looksLikeMath(inner))
  return found ? { source: text.slice(at, end + 2), display } : null
}
function formulaAt(text: string, at: number): Found | null {
  if (text[at] === '$') return text[at - 1] === '$' ? null : dollars(text, at)
  return text[at] === '\\' && /[[(]/.test(text[at + 1] ?? '') ? brackets(text, at) : null
}

const CLOSERS: Record<string, string> = { '$$': '$$', '\\[': '\\]' }

export function addMath(md: MarkdownIt): void {
  // Before the rule of escapes, which would take the backslash away.
  md.inline.ruler.before('escape', 'math', (state, silent) => {
    const found = formulaAt(state.src.slice(0, state.posMax), state.pos)
    if (!found) return false
    if (!silent) Object.assign(state.push('math', '', 0), { content: found.source, info: found.display ? 'display' : '' })
    state.pos += found.source.length
    return true
  })
  // An opener alone on its line: up to its closer or an empty line, whatever stands between, so that a text that grows never
  // has to take back a block that had begun there.
  md.block.ruler.before('fence', 'math_block', (state, start, end, silent) => {
    const lineAt = (line: number) => state.src.slice(state.bMarks[line]! + state.tShift[line]!, state.eMarks[line]!).trimEnd()
    const closer = CLOSERS[lineAt(start)]
    if (!closer || state.sCount[start]! - state.blkIndent >= 4) return false
    if (silent) return true
    let line = start + 1
    while (line < end && !state.isEmpty(line) && state.sCount[line]! >= state.blkIndent && !lineAt(line).endsWith(closer)) line += 1
    const closed = line < end && !state.isEmpty(line) && state.sCount[line]! >= state.blkIndent
    state.line = closed ? line + 1 : line
    Object.assign(state.push('math_block', '', 0), { content: state.getLines(start, state.line, state.blkIndent, false), info: closed ? 'display' : '', map: [start, state.line], block: true })
    return true
  }, { alt: ['paragraph', 'reference', 'blockquote', 'list'] })
  const text = (content: string) => md.utils.escapeHtml(content)
  md.renderer.rules.math = (tokens, at) => `<span class="math${tokens[at]!.info && ' math-display'}">${text(tokens[at]!.content)}</span>`
  md.renderer.rules.math_block = (tokens, at) => (tokens[at]!.info ? `<div class="math math-display">${text(tokens[at]!.content.trim())}</div>\n` : `<p>${text(tokens[at]!.content)}</p>\n`)
}
