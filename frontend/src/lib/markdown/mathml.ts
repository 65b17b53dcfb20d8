import DOMPurify from 'dompurify'
import katex from 'katex'

/** Formulas as MathML, which the browser draws itself: no fonts, no inline styles. A chunk of its own, fetched with the first formula. */
const TAGS = [
  'math', 'mrow', 'mi', 'mn', 'mo', 'ms', 'mtext', 'mspace', 'msub', 'msup', 'msubsup', 'mfrac', 'mroot', 'msqrt', 'mover', 'munder', 'munderover', 'mmultiscripts', 'mtable', 'mtr', 'mtd', 'mstyle', 'mpadded', 'mphantom', 'menclose',
]
const ATTRIBUTES = [
  'xmlns', 'display', 'mathvariant', 'stretchy', 'fence', 'separator', 'form', 'lspace', 'rspace', 'minsize', 'maxsize', 'accent', 'accentunder', 'movablelimits', 'symmetric', 'largeop', 'linethickness', 'columnalign', 'rowalign',
  'columnspacing', 'rowspacing', 'columnlines', 'rowlines', 'width', 'height', 'depth', 'voffset', 'scriptlevel', 'displaystyle', 'mathcolor', 'mathbackground', 'mathsize', 'notation', 'frame', 'framespacing',
]
const MOST_CHARS = 4_000
const MOST_EXPANSIONS = 300
const LARGEST_EM = 20
const CACHED = 300
const cache = new Map<string, string>()

/** One formula with its signs; null if it is none that KaTeX knows. */
function mathml(source: string, displayMode: boolean): string | null {
  const signs = /^(?:\$\$|\\)/.test(source) ? 2 : 1
  if (source.length > MOST_CHARS) return null
  try {
    const made = katex.renderToString(source.slice(signs, -signs), { displayMode, output: 'mathml', throwOnError: true, strict: 'ignore', trust: false, maxExpand: MOST_EXPANSIONS, maxSize: LARGEST_EM })
    return DOMPurify.sanitize(made.replace(/<annotation[^]*<\/annotation>/, ''), { ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ATTRIBUTES, ALLOW_DATA_ATTR: false, ALLOW_ARIA_ATTR: false })
  } catch {
    return null
  }
}

/** Clean HTML with the formulas in it drawn; those that cannot be stay as they were written. */
export function renderMath(html: string): string {
  const known = cache.get(html)
  if (known !== undefined) return known
  const page = document.createElement('template')
  page.innerHTML = html
  for (const part of page.content.querySelectorAll('.math')) {
    const made = mathml(part.textContent ?? '', part.classList.contains('math-display'))
    if (made) part.innerHTML = made
  }
  cache.set(html, page.innerHTML)
  if (cache.size > CACHED) cache.delete(cache.keys().next().value!)
  return page.innerHTML
}
