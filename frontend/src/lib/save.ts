/** Hands some data to the browser as a download. */
export function saveBlob(data: Blob, name: string): void {
  const url = URL.createObjectURL(data)
  saveUrl(url, name)
  setTimeout(() => URL.revokeObjectURL(url), 1_000)
}
export const saveText = (name: string, text: string): void => saveBlob(new Blob([text], { type: 'text/plain;charset=utf-8' }), name)

/** Lets the browser download an address of the server under a name. */
export function saveUrl(url: string, name: string): void {
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
}
