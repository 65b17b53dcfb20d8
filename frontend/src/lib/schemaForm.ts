import type { JsonSchema } from '@/api/types'

/** A form from a JSON Schema: which field a part becomes, what it starts with, and what is wrong with it. Pure. */

export type FieldKind = 'string' | 'number' | 'integer' | 'boolean' | 'enum' | 'array' | 'object' | 'json'

/** Values as they are written: numbers stay text until they are sent, so that a half-typed one is not lost. */
export type FieldValue = string | boolean | FieldValue[] | { [name: string]: FieldValue } | undefined

const SIMPLE = new Set(['string', 'number', 'integer', 'boolean'])

export function kindOfField(schema: JsonSchema): FieldKind {
  if (schema.enum?.length && schema.enum.every((value) => typeof value === 'string' || typeof value === 'number')) return 'enum'
  const types = Array.isArray(schema.type) ? schema.type.filter((type) => type !== 'null') : schema.type ? [schema.type] : []
  const type = types.length === 1 ? types[0]! : ''
  if (SIMPLE.has(type)) return type as FieldKind
  if (type === 'array' && schema.items && kindOfField(schema.items) !== 'json') return 'array'
  if (type === 'object' && schema.properties && Object.keys(schema.properties).length) return 'object'
  return 'json'
}

const asText = (value: unknown): string => (value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value))

/** What a field holds at first: the schema's default, else nothing. */
export function firstValue(schema: JsonSchema, given: unknown = schema.default): FieldValue {
  switch (kindOfField(schema)) {
    case 'boolean':
      return typeof given === 'boolean' ? given : undefined
    case 'array':
      return Array.isArray(given) ? given.map((item) => firstValue(schema.items!, item)) : []
    case 'object': {
      const known = given && typeof given === 'object' ? (given as Record<string, unknown>) : {}
      return Object.fromEntries(Object.entries(schema.properties!).map(([name, part]) => [name, firstValue(part, known[name] ?? part.default)]))
    }
    case 'json':
      return given === undefined ? '' : JSON.stringify(given, null, 2)
    default:
      return asText(given)
  }
}

export type Problem = 'required' | 'number' | 'integer' | 'least' | 'most' | 'short' | 'long' | 'pattern' | 'few' | 'many' | 'json'
export interface FieldProblem {
  path: string
  problem: Problem
  limit?: number
}
export interface Reading {
  /** Undefined: the field is left out of the request. */
  value: unknown
  problems: FieldProblem[]
}

const good = (value: unknown): Reading => ({ value, problems: [] })
const bad = (path: string, problem: Problem, limit?: number): Reading => ({ value: undefined, problems: [{ path, problem, ...(limit === undefined ? {} : { limit }) }] })

function readNumber(schema: JsonSchema, text: string, path: string, whole: boolean): Reading {
  const number = Number(text)
  if (!Number.isFinite(number)) return bad(path, 'number')
  if (whole && !Number.isInteger(number)) return bad(path, 'integer')
  if (schema.minimum !== undefined && number < schema.minimum) return bad(path, 'least', schema.minimum)
  if (schema.maximum !== undefined && number > schema.maximum) return bad(path, 'most', schema.maximum)
  return good(number)
}

function readText(schema: JsonSchema, text: string, path: string): Reading {
  if (schema.minLength !== undefined && text.length < schema.minLength) return bad(path, 'short', schema.minLength)
  if (schema.maxLength !== undefined && text.length > schema.maxLength) return bad(path, 'long', schema.maxLength)
  if (schema.pattern && !new RegExp(schema.pattern, 'u').test(text)) return bad(path, 'pattern')
  return good(text)
}

function readJson(text: string, path: string): Reading {
  try {
    return good(JSON.parse(text))
  } catch {
    return bad(path, 'json')
  }
}

function readArray(schema: JsonSchema, values: FieldValue[], path: string): Reading {
  if (schema.minItems !== undefined && values.length < schema.minItems) return bad(path, 'few', schema.minItems)
  if (schema.maxItems !== undefined && values.length > schema.maxItems) return bad(path, 'many', schema.maxItems)
  const items = values.map((value, index) => readField(schema.items!, value, true, `${path}.${index}`))
  return { value: items.map((item) => item.value), problems: items.flatMap((item) => item.problems) }
}

function readObject(schema: JsonSchema, values: Record<string, FieldValue>, path: string): Reading {
  const parts = Object.entries(schema.properties!).map(([name, part]) => [name, readField(part, values[name], schema.required?.includes(name) ?? false, path ? `${path}.${name}` : name)] as const)
  const filled = parts.filter(([, part]) => part.value !== undefined)
  return { value: Object.fromEntries(filled.map(([name, part]) => [name, part.value])), problems: parts.flatMap(([, part]) => part.problems) }
}

function isEmpty(value: FieldValue): boolean {
  if (Array.isArray(value)) return !value.length
  return typeof value === 'object' ? Object.values(value).every(isEmpty) : value === undefined || value === ''
}

/** A field as the request wants it, with everything that is wrong. An empty field that may be empty is left out. */
export function readField(schema: JsonSchema, value: FieldValue, required: boolean, path: string): Reading {
  const kind = kindOfField(schema)
  if (kind === 'object' && (required || !isEmpty(value))) return readObject(schema, (value ?? {}) as Record<string, FieldValue>, path)
  if (isEmpty(value)) {
    if (!required) return good(undefined)
    // A required text may be empty unless the schema says otherwise.
    if (kind === 'string' && !schema.minLength) return good('')
    return kind === 'array' && !schema.minItems ? good([]) : bad(path, 'required')
  }
  switch (kind) {
    case 'boolean':
      return good(value)
    case 'number':
    case 'integer':
      return readNumber(schema, String(value), path, kind === 'integer')
    case 'enum':
      return good(schema.enum!.find((option) => String(option) === value))
    case 'array':
      return readArray(schema, value as FieldValue[], path)
    case 'json':
      return readJson(String(value), path)
    default:
      return readText(schema, String(value), path)
  }
}

/** The arguments of a call and what is wrong with them, by the field's path. */
export function readForm(schema: JsonSchema, value: FieldValue): { args: Record<string, unknown>; problems: Map<string, FieldProblem> } {
  const reading = readObject({ ...schema, properties: schema.properties ?? {} }, value as Record<string, FieldValue>, '')
  return { args: reading.value as Record<string, unknown>, problems: new Map(reading.problems.map((problem) => [problem.path, problem])) }
}
