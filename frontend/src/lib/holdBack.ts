/** Items that came above the first one shown wait, so that nothing moves under the pointer. */
export function holdBack<Item extends { id: string }>(all: Item[], firstShown: string | null): { shown: Item[]; waiting: number } {
  const place = firstShown === null ? 0 : all.findIndex((item) => item.id === firstShown)
  return place > 0 ? { shown: all.slice(place), waiting: place } : { shown: all, waiting: 0 }
}
