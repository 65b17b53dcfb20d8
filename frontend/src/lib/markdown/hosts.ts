/** Names of hosts (stands in for punycode). What is shown stays encoded: look-alike letters cannot pose as another site. */
export function toASCII(host: string): string {
  try {
    return new URL(`http://${host}`).hostname
  } catch {
    return host
  }
}
export const toUnicode = (host: string): string => host
export default { toASCII, toUnicode }
