let jump: (messageId: string) => void = () => {}
let release: () => void = () => {}

/** The message list says how it brings a message into sight, and how it stops following the end; others ask for it. */
export function setJump(to: (messageId: string) => void, stopFollowing: () => void): void {
  jump = to
  release = stopFollowing
}
export const jumpToMessage = (messageId: string): void => jump(messageId)
/** The answer grows on; the page stays where it is. */
export const stopFollowing = (): void => release()
