import { describe, expect, it } from 'vitest'
import { renderMath } from './mathml'
import { parseBlocks } from './parser'

const page = (text: string) => new DOMParser().parseFromString(parseBlocks(text).map((block) => block.html).join(''), 'text/html')
const formulas = (text: string) => [...page(text).querySelectorAll('.math')].map((part) => `${part.classList.contains('math-display') ? 'display ' : ''}${part.textContent}`)

describe('formulas in a text', () => {
  it.each([
    ['Einstein: $E = mc^2$.', ['$E = mc^2$']],
    ['both $x$ and $f(x)$', ['$x$', '$f(x)$']],
    ['brackets \\(a_1 + b\\) too', ['\\(a_1 + b\\)']],
    ['in the line $$a^2$$ and \\[b_1\\]', ['display $$a^2$$', 'display \\[b_1\\]']],
    ['above\n$$\n\\frac{1}{2}\n+ 1\n$$\nbelow', ['display $$\n\\frac{1}{2}\n+ 1\n$$']],
    ['\\[\nx = 1\n\\]', ['display \\[\nx = 1\n\\]']],
    ['- in a list: $n_i$\n- \n  $$\n  m\n  $$', ['$n_i$', 'display $$\nm\n$$']],
    ['| a |\n|---|\n| $x^2$ |', ['$x^2$']],
    ['它等于 $x$，也就是 \\(y^2\\)。', ['$x$', '\\(y^2\\)']],
  ])('are found: %s', (text, found) => expect(formulas(text)).toEqual(found))

  it.each([
    '$5 and $6', 'from $5 to $6', 'US$5, A$6', 'between $5-$6', 'I have $5 million, or 10$ left', 'the path is $HOME/bin:$PATH', 'an escaped \\$x\\$ sign', '\\[citation needed\\]', '\\[1\\]', '\\(optional\\)', '\\(可选\\)', 'lone $ sign', '$$',
    '`$x^2$` and ``\\(a_1\\)``', '```\n$x^2$\n$$\ny\n$$\n```', '    $$\n    x\n    $$', '$$\nno end\n\nnext', 'a $x `y$` z',
  ])('are not seen where there are none: %s', (text) => expect(formulas(text)).toEqual([]))

  it('lose no sign of what is money', () => expect(page('$5 and $6, *both*').body.textContent?.trim()).toBe('$5 and $6, both'))
})

describe('drawing formulas', () => {
  const drawn = (text: string) => new DOMParser().parseFromString(renderMath(parseBlocks(text).map((block) => block.html).join('')), 'text/html')

  it('gives MathML, as a line of its own where that was asked for', () => {
    const made = drawn('$x_1$ and $$\\frac{a}{b}$$')
    expect([...made.querySelectorAll('math')].map((math) => math.getAttribute('display'))).toEqual([null, 'block'])
    expect(made.querySelector('msub')?.textContent).toBe('x1')
    expect(made.querySelector('mfrac')?.textContent).toBe('ab')
    expect(made.querySelector('annotation')).toBeNull()
  })

  it('leaves what it does not understand as it was written', () => expect(drawn('$\\nosuchthing_1$ and $x$').body.textContent).toContain('$\\nosuchthing_1$'))

  it.each(['$\\href{javascript:alert(1)}{x}$', '$\\htmlStyle{position:fixed}{x}$', '$\\includegraphics{https://tracker.example/p.png}$', '$\\text{<img src=x onerror=alert(1)>}_1$', '$\\url{https://example.org}_1$', '$\\def\\x{\\x\\x}\\x_1$', '$\\color{red;background:url(x)}{x}$', '$\\rule{9999em}{9999em}_1$'])('makes nothing else of %s', (attack) => {
    const made = drawn(attack)
    const names = new Set([...made.body.querySelectorAll('*')].map((element) => element.localName))
    for (const name of ['a', 'img', 'script', 'style', 'svg', 'annotation']) expect(names).not.toContain(name)
    for (const element of made.body.querySelectorAll('*')) expect(element.getAttributeNames().filter((name) => /^on|style$|href|src/.test(name) && name !== 'displaystyle')).toEqual([])
    expect([...made.querySelectorAll('[width], [height]')].every((element) => ['width', 'height'].every((name) => Number.parseFloat(element.getAttribute(name) ?? '0') <= 20))).toBe(true)
  })
})
