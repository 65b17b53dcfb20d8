import { h, shallowRef, type Component, type Slots } from 'vue'

type Parts = typeof import('./menu')

/** What menus are made of: a chunk of its own, as nothing of it is seen before a menu opens. */
export const menuParts = shallowRef<Parts | null>(null)
export async function loadMenuParts(): Promise<void> {
  menuParts.value ??= await import('./menu')
}

/** A part of a menu under its own name and type. It is rendered in an open menu only, so its chunk is there. */
export function menuPart<Name extends keyof Parts>(name: Name): Parts[Name] {
  const part = (_props: unknown, { attrs, slots }: { attrs: Record<string, unknown>; slots: Slots }) => h(menuParts.value![name] as Component, attrs, slots)
  return Object.assign(part, { inheritAttrs: false }) as unknown as Parts[Name]
}
