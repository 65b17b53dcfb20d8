/// <reference types="vite/client" />

declare module 'virtual:messages/*' {
  const messages: Record<string, unknown>
  export default messages
}
