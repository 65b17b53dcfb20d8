import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseBlocks } from './parser'
import { renderWhole, StreamingMarkdown, type Block } from './stream'
import { highlight } from './highlight'

const shape = (blocks: { kind: string; html: string; code: string; language: string; closed: boolean }[]) => blocks.map(({ kind, html, code, language, closed }) => ({ kind, html, code, language, closed }))
const whole = (text: string) => shape(parseBlocks(text))

function stream(text: string, cuts: number[]): { live: Block[]; done: Block[] } {
  const markdown = new StreamingMarkdown()
  let live: Block[] = []
  for (const cut of [...new Set(cuts)].sort((a, b) => a - b)) live = markdown.update(text.slice(0, cut))
  live = markdown.update(text)
  return { live, done: markdown.finish(text) }
}

// Lines that open, continue, interrupt or change blocks; any mix of them is a text.
const LINES = [
  'A paragraph with *emphasis* and `code`.', 'another line', '', '', '# Heading', '## Second', '#no heading', '- item', '- [ ] task', '  continued', '    indented', '1. first', '2. second', '3) other marker',
  '> quote', '> - list in quote', '---', '===', '***', '```python', '```', '~~~', 'print(1)', '| a | b |', '|---|--:|', '| 1 | 2 |', '+ plus item', '* star item', '\\# escaped', 'https://example.org/x?a=1', '<b>raw</b>', '&amp; &copy;', '  - nested', '中文，标点。', 'line with two spaces  ', '\ttab', '![alt](x.png)', '$$', '\\[', '\\]', 'x = $a_1$ and \\(b^2\\)', 'from $5 to $6', '$$y^2$$ inline', '[link](https://example.org)',
]
const document = fc.array(fc.constantFrom(...LINES), { minLength: 1, maxLength: 24 }).map((lines) => lines.join('\n'))
const chunked = fc.tuple(document, fc.array(fc.nat(600), { maxLength: 30 }))

// LONG_TESTS=1 looks much further.
const RUNS = process.env.LONG_TESTS ? 4_000 : 150
const PATIENCE_MS = process.env.LONG_TESTS ? 900_000 : 120_000

describe('the block splitter', () => {
  it('gives the same blocks for any chunking as one rendering of the whole', () => {
    fc.assert(
      fc.property(chunked, ([text, cuts]) => {
        const { live, done } = stream(text, cuts.map((cut) => cut % (text.length + 1)))
        expect(shape(live)).toEqual(whole(text))
        expect(shape(done)).toEqual(whole(text))
      }),
      { numRuns: RUNS },
    )
  }, PATIENCE_MS)

  it('does so too one character at a time', () => {
    fc.assert(
      fc.property(document, (text) => {
        expect(shape(stream(text, Array.from(text, (_, index) => index)).live)).toEqual(whole(text))
      }),
      { numRuns: RUNS / 10 },
    )
  }, PATIENCE_MS)

  it('does so at the end too where links are defined by name, before or after their use', () => {
    const lines = ['[p]: https://example.org', '[^1]: https://example.org/note', 'See [the page][p] and [p].', 'A note[^1].', '[p]:', '  https://example.org/next "title"', ...LINES]
    const text = fc.array(fc.constantFrom(...lines), { minLength: 1, maxLength: 24 }).map((parts) => parts.join('\n'))
    fc.assert(
      fc.property(fc.tuple(text, fc.array(fc.nat(600), { maxLength: 30 })), ([source, cuts]) => {
        expect(shape(stream(source, cuts.map((cut) => cut % (source.length + 1))).done)).toEqual(whole(source))
      }),
      { numRuns: RUNS },
    )
  }, PATIENCE_MS)

  it('mends what a late link definition changes above, when the text ends', () => {
    const text = 'See [the page][p].\n\nMore text.\n\n[p]: https://example.org\n'
    const { live, done } = stream(text, [10, 20, 30, 40])
    expect(live[0]!.html).not.toContain('href')
    expect(done[0]!.html).toContain('href="https://example.org"')
  })

  it('keeps the objects of blocks that are frozen', () => {
    const markdown = new StreamingMarkdown()
    const before = markdown.update('# Title\n\nFirst paragraph.\n\nSec')
    const after = markdown.update('# Title\n\nFirst paragraph.\n\nSecond paragraph grows')
    expect(after[0]).toBe(before[0])
    expect(after[1]).toBe(before[1])
    expect(after[2]).not.toBe(before[2])
    expect(markdown.finish('# Title\n\nFirst paragraph.\n\nSecond paragraph grows')[0]).toBe(before[0])
  })

  it('knows an open fence from a closed one', () => {
    const [open] = new StreamingMarkdown().update('```python\nprint(1)\n')
    expect(open).toMatchObject({ kind: 'code', language: 'python', closed: false, code: 'print(1)\n' })
    expect(renderWhole('```python\nprint(1)\n```')[0]).toMatchObject({ closed: true })
  })
})

// What hostile pages, files and models have been seen to send.
const ATTACKS = [
  '<script>alert(1)</script>', '<img src=x onerror=alert(1)>', '<svg onload=alert(1)>', '<iframe src="javascript:alert(1)"></iframe>', '<a href="javascript:alert(1)">x</a>', '[x](javascript:alert(1))', '[x](JaVaScRiPt:alert(1))',
  '[x](data:text/html;base64,PHNjcmlwdD4=)', '[x](vbscript:msgbox(1))', '![x](javascript:alert(1))', '![x](data:image/svg+xml;base64,PHN2Zz4=)', '<javascript:alert(1)>', '[x](&#106;avascript:alert(1))', '[x](java\nscript:alert(1))', '[x](\u0001javascript:alert(1))',
  '<div style="position:fixed;inset:0">x</div>', '<style>*{display:none}</style>', '<form action="https://evil.example"><button>ok</button></form>', '<math><mi//xlink:href="data:x,<script>alert(1)</script>">', '<noscript><p title="</noscript><img src=x onerror=alert(1)>">',
  '`<img src=x onerror=alert(1)>`', '$<img src=x onerror=alert(1)>$', '$$\n\\href{javascript:alert(1)}{x}\n$$', '\\(\\htmlStyle{position:fixed}{x}<svg onload=alert(1)>\\)',
  '| <img src=x onerror=alert(1)> |\n|---|\n| <script>alert(1)</script> |', '> <object data="javascript:alert(1)">', '[x]: javascript:alert(1)\n\n[x]', '![" onerror="alert(1)](https://example.org/x.png)', '[" onmouseover="alert(1)](https://example.org "\\" onmouseover=\\"alert(1)")', '![x](x" onerror="alert(1))',
]

function dangers(html: string): string[] {
  const page = new DOMParser().parseFromString(html, 'text/html')
  return [...page.querySelectorAll('*')].flatMap((element) => [
    ...(['SCRIPT', 'IFRAME', 'OBJECT', 'EMBED', 'STYLE', 'FORM', 'SVG', 'MATH', 'BASE', 'META', 'LINK', 'INPUT', 'BUTTON'].includes(element.tagName.toUpperCase()) ? [element.tagName] : []),
    ...[...element.attributes].filter(({ name, value }) => /^on|^style$|^srcdoc$|^formaction$/i.test(name) || /^\s*(?:javascript|vbscript|data):/i.test(value)).map(({ name, value }) => `${name}=${value}`),
  ])
}

describe('hostile text', () => {
  it.each(ATTACKS)('stays text: %s', (attack) => {
    for (const text of [attack, `before ${attack} after`, `- ${attack}`]) {
      const blocks = parseBlocks(text, { projectId: 'p1' })
      expect(blocks.flatMap((block) => dangers(block.html))).toEqual([])
    }
  })

  it('stays text inside code that is highlighted', () => {
    for (const attack of ATTACKS) for (const language of ['xml', 'javascript', 'python', 'json']) expect(dangers(highlight(attack, language) ?? '')).toEqual([])
  })

  it('never loads a picture from elsewhere by itself', () => {
    const html = parseBlocks('![chart](https://tracker.example/p.png) ![own](plots/a.png)', { projectId: 'p 1' })[0]!.html
    const page = new DOMParser().parseFromString(html, 'text/html')
    expect([...page.images].map((image) => image.getAttribute('src'))).toEqual(['/api/projects/p%201/files/content?path=plots%2Fa.png'])
    expect(page.querySelector('a.remote-image')?.getAttribute('rel')).toBe('noopener noreferrer')
  })

  it('shows the rest of an answer that names a picture in bytes which are no UTF-8', () => {
    const html = parseBlocks('before ![a](%D6%D0.png) ![b](50%.png) after', { projectId: 'p1' })[0]!.html
    expect(html).toContain('after')
    const page = new DOMParser().parseFromString(html, 'text/html')
    expect([...page.images].map((image) => image.getAttribute('src'))).toEqual(['%25D6%25D0.png', '50%25.png'].map((name) => `/api/projects/p1/files/content?path=${name}`))
  })

  it('turns the alignment of tables into classes, since the CSP drops styles', () => {
    const [table] = parseBlocks('| a | b |\n|:--|--:|\n| 1 | 2 |')
    expect(table!.kind).toBe('table')
    expect(table!.html).toContain('class="align-right"')
    expect(table!.html).not.toContain('style')
  })
})
