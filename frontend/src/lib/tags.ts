export const TAGS_MOST = 20
export const TAG_CHARS = 40

const same = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()
export const hasTag = (tags: readonly string[], tag: string): boolean => tags.some((other) => same(other, tag))

/** Tags as they are typed, apart by commas of either script: trimmed, cut to length, each once whatever its case. */
export function addTags(tags: readonly string[], typed: string): string[] {
  const all = [...tags]
  for (const part of typed.split(/[,，、;；\n]/)) {
    const tag = part.trim().replace(/^[#＃]/, '').trim().slice(0, TAG_CHARS).trim()
    if (tag && !hasTag(all, tag) && all.length < TAGS_MOST) all.push(tag)
  }
  return all
}
export const dropTag = (tags: readonly string[], tag: string): string[] => tags.filter((other) => !same(other, tag))
/** The tags that every one of the lists has, in the words of the first. */
export const sharedTags = (lists: readonly (readonly string[])[]): string[] => (lists[0] ?? []).filter((tag) => lists.every((list) => hasTag(list, tag)))
