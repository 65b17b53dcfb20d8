const LOOKED_AT_CHARS = 1000
const FIRST_LETTER = /\p{L}/u
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u

/** Which way a text is written, by its first letter; undefined where it has none yet. */
export function directionOf(text: string): 'ltr' | 'rtl' | undefined {
  const letter = FIRST_LETTER.exec(text.slice(0, LOOKED_AT_CHARS))?.[0]
  if (!letter) return undefined
  return RIGHT_TO_LEFT.test(letter) ? 'rtl' : 'ltr'
}
