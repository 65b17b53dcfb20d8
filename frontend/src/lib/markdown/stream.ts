import { parseBlocks, blockStarts, type Env, type RawBlock } from './parser'

/** A block as shown; the same object stays while its text stays, so Vue has nothing to do for it. */
export interface Block extends RawBlock {
  key: number
}

const sameBlock = (a: RawBlock, b: RawBlock) =>
  a.kind === b.kind && a.html === b.html && a.code === b.code && a.language === b.language && a.closed === b.closed

function lineOffset(text: string, line: number): number {
  let at = 0
  for (let n = 0; n < line; n += 1) at = text.indexOf('\n', at) + 1
  return at
}

/**
 * Renders a text that grows. Only what lies after the last frozen block is parsed again: a block freezes once
 * the next one has begun on a whole line. A link definition may change what stands above it: where one was met, `finish`
 * compares with one rendering of the whole text.
 */
export class StreamingMarkdown {
  private frozen: Block[] = []
  private frozenEnd = 0
  private source = ''
  private tail: Block[] = []
  private defined = false
  private readonly env: Env

  constructor(env: Env = {}) {
    this.env = { ...env, onDefinition: () => (this.defined = true) }
  }

  get blocks(): Block[] {
    return [...this.frozen, ...this.tail]
  }

  update(text: string): Block[] {
    if (!text.startsWith(this.source.slice(0, this.frozenEnd))) this.reset()
    this.source = text
    this.freeze()
    this.tail = this.adopt(parseBlocks(text.slice(this.frozenEnd), this.env), this.frozen.length, this.tail)
    return this.blocks
  }

  finish(text: string): Block[] {
    if (text !== this.source) this.update(text)
    if (!this.defined) return this.blocks
    const whole = parseBlocks(text, this.env)
    this.tail = this.adopt(whole, 0, this.blocks)
    this.frozen = []
    this.frozenEnd = 0
    this.source = text
    return this.tail
  }

  private reset(): void {
    this.frozen = []
    this.frozenEnd = 0
    this.tail = []
  }

  private freeze(): void {
    const whole = this.source.slice(this.frozenEnd, this.source.lastIndexOf('\n') + 1)
    if (!whole) return
    const last = blockStarts(whole).at(-1) ?? 0
    if (last === 0) return
    const end = lineOffset(whole, last)
    const done = parseBlocks(whole.slice(0, end), this.env)
    this.frozen = [...this.frozen, ...this.adopt(done, this.frozen.length, this.tail)]
    this.tail = []
    this.frozenEnd += end
  }

  /** Gives raw blocks their keys, by place, and keeps the objects of those that have not changed. */
  private adopt(raw: RawBlock[], firstKey: number, old: Block[]): Block[] {
    const byKey = new Map(old.map((block) => [block.key, block]))
    return raw.map((block, index) => {
      const key = firstKey + index
      const before = byKey.get(key)
      return before && sameBlock(before, block) ? before : { ...block, key }
    })
  }
}

const CACHED_TEXTS = 300
const cache = new Map<string, Block[]>()

const cacheKey = (text: string, env: Env) => `${env.projectId ?? ''}\n${text}`

/** Keeps the blocks of a finished text, since a virtual list mounts the same message many times. */
export function remember(text: string, env: Env, blocks: Block[]): Block[] {
  cache.set(cacheKey(text, env), blocks)
  if (cache.size > CACHED_TEXTS) cache.delete(cache.keys().next().value!)
  return blocks
}

/** The blocks of a finished text. */
export const renderWhole = (text: string, env: Env = {}): Block[] =>
  cache.get(cacheKey(text, env)) ?? remember(text, env, parseBlocks(text, env).map((block, key) => ({ ...block, key })))
