import { shallowRef } from 'vue'
import type { Conversation, Project } from '@/api/types'

/** Where a menu opens: beside the button of its row, or where the pointer was. */
export type Anchor = HTMLElement | { x: number; y: number }
interface RowMenu {
  at: Anchor
  /** The button of the row: it gets the focus back, and shows whether its menu is open. */
  button: HTMLElement
  byKey: boolean
  rename?: () => void
}
export type Act = 'pin' | 'unpin' | 'archive' | 'unarchive' | 'remove' | 'keep' | 'exportMd' | 'exportJson' | 'exportAll'
/** What a person asked to do with conversations or projects. */
export type Asked =
  | ({ kind: 'conversationMenu'; conversation: Conversation } & RowMenu)
  | ({ kind: 'projectMenu'; project: Project } & RowMenu)
  | { kind: 'move' | 'tags'; conversations: Conversation[] }
  | { kind: 'do'; act: Act; conversations: Conversation[] }
  | { kind: 'fork'; conversationId: string; messageId: string }
  | { kind: 'import'; projectId: string | null; file?: File }
  | { kind: 'deleteProjects'; projects: Project[] }

/** The one menu or dialog that is open; OrganiseHost, a chunk of its own, answers it. */
export const asked = shallowRef<Asked | null>(null)
export const ask = (wish: Asked): void => {
  asked.value = wish
}
export const isMenuOf = (button: HTMLElement | null): boolean => Boolean(button && asked.value && 'button' in asked.value && asked.value.button === button)

/** Opens or closes a row's menu, for a press of its button or a right click on the row: both get the same one. */
export function rowMenu(event: MouseEvent, row: HTMLElement | null, rename?: () => void): RowMenu | null {
  const button = row?.querySelector<HTMLElement>('[data-row-menu]')
  if (!button) return null
  const right = event.type === 'contextmenu'
  if (!right && isMenuOf(button)) {
    asked.value = null
    return null
  }
  // The key for menus tells no place of its own, or that of the element.
  const pointed = right && event.button === 2
  return { at: pointed ? { x: event.clientX, y: event.clientY } : button, button, byKey: right ? !pointed : event.detail === 0, rename }
}
