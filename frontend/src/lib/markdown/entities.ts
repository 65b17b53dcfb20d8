const area = document.createElement('textarea')

/**
 * One character reference (`&copy;`) as its character, by the browser's own table instead of a copy of it.
 * A textarea holds text only, so nothing in it can become an element.
 */
export function decodeHTMLStrict(reference: string): string {
  area.innerHTML = reference
  return area.value
}
