import { describe, expect, it } from 'vitest'
import type { JsonSchema } from '@/api/types'
import { firstValue, kindOfField, readField, readForm } from './schemaForm'

const schema: JsonSchema = {
  type: 'object',
  required: ['query', 'tags'],
  properties: {
    query: { type: 'string', minLength: 2 },
    most: { type: 'integer', minimum: 1, maximum: 20, default: 5 },
    ratio: { type: 'number' },
    deep: { type: 'boolean' },
    mode: { enum: ['fast', 'slow'], default: 'fast' },
    tags: { type: 'array', items: { type: 'string' }, maxItems: 2 },
    where: { type: 'object', properties: { city: { type: 'string' }, zip: { type: 'integer' } }, required: ['city'] },
    anything: {},
  },
}

describe('which field a part of a schema becomes', () => {
  it.each<[JsonSchema, string]>([
    [{ type: 'string' }, 'string'], [{ type: ['string', 'null'] }, 'string'], [{ type: 'integer' }, 'integer'], [{ type: 'number' }, 'number'], [{ type: 'boolean' }, 'boolean'],
    [{ type: 'string', enum: ['a'] }, 'enum'], [{ enum: [1, 2] }, 'enum'], [{ enum: [{ a: 1 }] }, 'json'],
    [{ type: 'array', items: { type: 'string' } }, 'array'], [{ type: 'array' }, 'json'], [{ type: 'array', items: {} }, 'json'],
    [{ type: 'object', properties: { a: { type: 'string' } } }, 'object'], [{ type: 'object' }, 'json'], [{ type: ['string', 'integer'] }, 'json'], [{}, 'json'],
  ])('%j is %s', (part, kind) => expect(kindOfField(part)).toBe(kind))
})

describe('a form', () => {
  it('starts with the defaults', () => {
    expect(firstValue(schema)).toEqual({ query: '', most: '5', ratio: '', deep: undefined, mode: 'fast', tags: [], where: { city: '', zip: '' }, anything: '' })
  })

  it('gives typed arguments and leaves out what is empty', () => {
    const { args, problems } = readForm(schema, { query: 'hello', most: '7', ratio: '', deep: false, mode: 'slow', tags: ['x'], where: { city: '', zip: '' }, anything: '{"a":[1]}' })
    expect(problems.size).toBe(0)
    expect(args).toEqual({ query: 'hello', most: 7, deep: false, mode: 'slow', tags: ['x'], anything: { a: [1] } })
  })

  it('says what is wrong, at the field', () => {
    const { problems } = readForm(schema, { query: 'h', most: '2.5', ratio: 'much', tags: ['a', 'b', 'c'], where: { city: 'x', zip: '1e400' }, anything: '{' })
    expect(Object.fromEntries([...problems].map(([path, problem]) => [path, problem.problem]))).toEqual({ query: 'short', most: 'integer', ratio: 'number', tags: 'many', 'where.zip': 'number', anything: 'json' })
    expect(readForm(schema, { query: 'ok', tags: ['a'], most: '21' }).problems.get('most')).toEqual({ path: 'most', problem: 'most', limit: 20 })
  })

  it('asks for what is required', () => {
    expect(readField({ type: 'integer' }, '', true, 'n').problems).toEqual([{ path: 'n', problem: 'required' }])
    expect(readField({ type: 'string' }, '', true, 's')).toEqual({ value: '', problems: [] })
    expect(readForm(schema, { query: '' }).problems.get('query')?.problem).toBe('required')
  })

  it('turns the text of a numeric choice back into its number', () => {
    expect(readField({ enum: [1, 2] }, '2', true, 'n').value).toBe(2)
  })

  it('has no arguments where a tool takes none', () => {
    expect(readForm({ type: 'object', properties: {} }, {})).toEqual({ args: {}, problems: new Map() })
  })
})
