/** Paths of a project: relative, with `/`, and '' for the project's own folder. */
export const nameOf = (path: string): string => path.split('/').at(-1) ?? ''
export const folderOf = (path: string): string => path.split('/').slice(0, -1).join('/')
export const joinPath = (...parts: string[]): string => parts.filter(Boolean).join('/')
export const isInside = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

/** The folders above a path, outermost first, and the path itself. */
export function crumbsOf(path: string): { name: string; path: string }[] {
  const names = path.split('/').filter(Boolean)
  return names.map((name, index) => ({ name, path: names.slice(0, index + 1).join('/') }))
}

/** What a typed path means, or null if it cannot be one: no empty, `.` or `..` parts, no backslash or control characters. */
export function cleanPath(text: string): string | null {
  const parts = text.trim().replace(/^\/+|\/+$/g, '').split('/')
  const bad = parts.some((part) => !part.trim() || part === '.' || part === '..' || /[\\\p{Cc}]/u.test(part))
  return bad ? null : parts.join('/')
}
