let jump: (messageId: string) => void = () => {}

/** The message list says how it brings a message into sight; others ask for it. */
export const setJump = (to: (messageId: string) => void): void => {
  jump = to
}
export const jumpToMessage = (messageId: string): void => jump(messageId)
