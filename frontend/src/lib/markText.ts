/** Marks found words where they are shown, without touching the page's own elements. */
const NAME = 'found'

/** Where `wanted` stands in the text of an element, whatever its letters' case; a match may run over inline marks. */
export function findRanges(root: Element, wanted: string): Range[] {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT)
  const nodes: { node: Text; start: number }[] = []
  let text = ''
  for (let node = walker.nextNode() as Text | null; node; node = walker.nextNode() as Text | null) {
    nodes.push({ node, start: text.length })
    text += node.data
  }
  const place = (at: number, end: boolean): [Text, number] => {
    const found = nodes.findLast((item) => (end ? item.start < at : item.start <= at))!
    return [found.node, at - found.start]
  }
  const [all, part] = [text.toLowerCase(), wanted.toLowerCase()]
  // Letters whose lower case is longer would shift every place after them.
  if (!part || all.length !== text.length) return []
  const ranges: Range[] = []
  for (let at = all.indexOf(part); at >= 0; at = all.indexOf(part, at + part.length)) {
    const range = document.createRange()
    range.setStart(...place(at, false))
    range.setEnd(...place(at + part.length, true))
    ranges.push(range)
  }
  return ranges
}

export function paintRanges(ranges: Range[]): void {
  if (typeof CSS === 'undefined' || !('highlights' in CSS)) return
  if (ranges.length) CSS.highlights.set(NAME, new Highlight(...ranges))
  else CSS.highlights.delete(NAME)
}
