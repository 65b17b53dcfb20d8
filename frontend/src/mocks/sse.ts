/** A Server-Sent Events answer that a mock can write to. */
export function eventStream(signal: AbortSignal, start: (send: (text: string) => void, close: () => void) => () => void): Response {
  const encoder = new TextEncoder()
  let stop = () => {}
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      let open = true
      const close = () => {
        if (!open) return
        open = false
        clearInterval(heartbeat)
        stop()
        try {
          controller.close()
        } catch {
          // Cancelled by the reader already.
        }
      }
      const send = (text: string) => open && controller.enqueue(encoder.encode(text))
      const heartbeat = setInterval(() => send(': beat\n\n'), 10_000)
      signal.addEventListener('abort', close)
      stop = start(send, close)
    },
  })
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } })
}
export const sse = (type: string, data: unknown, id?: number): string => `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
