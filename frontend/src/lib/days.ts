/** Groups by day as people say it: today, yesterday, this week, this month, older. */
export type DayGroup = 'today' | 'yesterday' | 'week' | 'month' | 'older'

const DAY_MS = 86_400_000
const midnight = (date: Date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime()

/** The day by the reader's clock, as machines write it: 2026-11-30. */
export function dateOf(iso: string): string {
  const date = new Date(iso)
  return [String(date.getFullYear()).padStart(4, '0'), ...[date.getMonth() + 1, date.getDate()].map((part) => String(part).padStart(2, '0'))].join('-')
}

export function dayGroup(iso: string, now = new Date()): DayGroup {
  const days = Math.round((midnight(now) - midnight(new Date(iso))) / DAY_MS)
  if (days <= 0) return 'today'
  if (days === 1) return 'yesterday'
  if (days < 7) return 'week'
  return days < 30 ? 'month' : 'older'
}

export function groupByDay<Item>(items: Item[], when: (item: Item) => string, now = new Date()): { group: DayGroup; items: Item[] }[] {
  const groups: { group: DayGroup; items: Item[] }[] = []
  for (const item of items) {
    const group = dayGroup(when(item), now)
    if (groups.at(-1)?.group === group) groups.at(-1)!.items.push(item)
    else groups.push({ group, items: [item] })
  }
  return groups
}
