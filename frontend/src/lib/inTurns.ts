const AT_ONCE = 4

/** Does something with each item, a few at a time; what failed does not stop the others. */
export async function inTurns<Item>(items: readonly Item[], act: (item: Item) => Promise<unknown>): Promise<{ done: Item[]; failures: unknown[] }> {
  const open = [...items]
  const done: Item[] = []
  const failures: unknown[] = []
  async function work(): Promise<void> {
    for (let item = open.shift(); item !== undefined; item = open.shift()) {
      try {
        await act(item)
        done.push(item)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return { done: items.filter((item) => done.includes(item)), failures }
}
