/** Estimates tokens as the server does: pieces of words, digits and signs, and 0.75 for each CJK character. */
const PIECES = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]|[\p{L}\p{M}_]+|\p{N}+|[^\s\p{L}\p{M}\p{N}]/gu
const CJK = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]$/u
const CJK_TOKENS = 0.75
const LETTERS_PER_PIECE = 6
const DIGITS_PER_PIECE = 3

export function estimateTokens(text: string): number {
  let total = 0
  for (const [piece] of text.matchAll(PIECES)) {
    if (CJK.test(piece)) total += CJK_TOKENS
    else if (/^\p{N}/u.test(piece)) total += Math.ceil(piece.length / DIGITS_PER_PIECE)
    else if (/^[\p{L}\p{M}_]/u.test(piece)) total += Math.ceil(piece.length / LETTERS_PER_PIECE)
    else total += 1
  }
  return Math.ceil(total)
}
