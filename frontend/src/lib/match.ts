/** Fuzzy search of short names; Chinese is also found by the first letters of its pinyin. */

// The first common character of each pinyin initial, in the collation order of zh.
const BORDERS: [string, string][] = [
  ['a', '阿'], ['b', '八'], ['c', '嚓'], ['d', '哒'], ['e', '妸'], ['f', '发'], ['g', '旮'], ['h', '哈'], ['j', '讥'], ['k', '咔'], ['l', '垃'],
  ['m', '妈'], ['n', '拏'], ['o', '噢'], ['p', '妑'], ['q', '七'], ['r', '呥'], ['s', '扨'], ['t', '它'], ['w', '穵'], ['x', '夕'], ['y', '丫'], ['z', '帀'],
]
const collator = new Intl.Collator('zh-Hans-CN-u-co-pinyin')

function initial(character: string): string {
  if (!/\p{Script=Han}/u.test(character)) return character
  let found = ''
  for (const [letter, border] of BORDERS) {
    if (collator.compare(border, character) > 0) break
    found = letter
  }
  return found
}

export const pinyinInitials = (text: string): string => [...text.toLowerCase()].map(initial).join('')

/** How well `text` answers `query`: 0 is not at all; whole words and early places count more. */
export function score(text: string, query: string): number {
  const wanted = query.trim().toLowerCase()
  if (!wanted) return 1
  const lower = text.toLowerCase()
  const at = lower.indexOf(wanted)
  if (at >= 0) return 100 - Math.min(at, 50) + (at === 0 ? 30 : 0)
  const spelled = pinyinInitials(text).indexOf(wanted)
  if (spelled >= 0 && /\p{Script=Han}/u.test(text)) return 60 - Math.min(spelled, 30)
  let place = -1
  let gaps = 0
  for (const character of wanted.replace(/\s+/g, '')) {
    const next = lower.indexOf(character, place + 1)
    if (next < 0) return 0
    gaps += next - place - 1
    place = next
  }
  return Math.max(1, 40 - gaps)
}

export function bestMatches<Item>(items: Item[], query: string, textOf: (item: Item) => string, most = 8): Item[] {
  return items
    .map((item) => ({ item, points: score(textOf(item), query) }))
    .filter(({ points }) => points > 0)
    .sort((a, b) => b.points - a.points)
    .slice(0, most)
    .map(({ item }) => item)
}
