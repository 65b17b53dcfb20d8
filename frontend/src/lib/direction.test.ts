import { expect, it } from 'vitest'
import { directionOf } from './direction'

it.each([['Hello', 'ltr'], ['12) \u05e9\u05dc\u05d5\u05dd hello', 'rtl'], ['/calculator 2', 'ltr'], ['\u0645\u0631\u062d\u0628\u0627', 'rtl'], ['\u4f60\u597d', 'ltr'], ['12 + 3', undefined], ['', undefined]])('tells which way %j is written', (text, direction) => {
  expect(directionOf(text)).toBe(direction)
})
