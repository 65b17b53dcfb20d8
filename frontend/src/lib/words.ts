/** How many words a text has; in Chinese and its neighbours a word is what a dictionary would call one. */
export function countWords(text: string, locale: string): number {
  if (typeof Intl.Segmenter === 'undefined') return text.split(/\s+/).filter(Boolean).length
  let count = 0
  for (const { isWordLike } of new Intl.Segmenter(locale, { granularity: 'word' }).segment(text)) count += isWordLike ? 1 : 0
  return count
}
