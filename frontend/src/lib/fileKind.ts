/** What can be done with a file, by its name. */
export type FileKind = 'code' | 'markdown' | 'image' | 'csv' | 'json' | 'text' | 'binary'
/** More than this is no reading matter for a page. */
export const MOST_TEXT_BYTES = 1_000_000

const LANGUAGES: Record<string, string> = {
  py: 'python', js: 'javascript', mjs: 'javascript', jsx: 'javascript', ts: 'typescript', tsx: 'typescript', sh: 'bash', bash: 'bash', css: 'css', scss: 'css', html: 'xml',
  xml: 'xml', svg: 'xml', vue: 'xml', sql: 'sql', yaml: 'yaml', yml: 'yaml', toml: 'yaml', go: 'go', java: 'java', diff: 'diff', patch: 'diff', json: 'json',
}
const IMAGES = new Set(['png', 'jpg', 'jpeg', 'gif', 'webp', 'avif', 'bmp', 'ico'])
const BINARY = new Set(['zip', 'gz', 'tar', 'xz', '7z', 'pdf', 'docx', 'xlsx', 'pptx', 'exe', 'so', 'dll', 'bin', 'db', 'sqlite', 'mp3', 'mp4', 'mov', 'wav', 'woff', 'woff2', 'ttf', 'parquet', 'pyc'])

export const extensionOf = (path: string): string => path.split('/').at(-1)!.match(/\.([^.]+)$/)?.[1]?.toLowerCase() ?? ''
export const languageOf = (path: string): string => LANGUAGES[extensionOf(path)] ?? ''

export function kindOf(path: string): FileKind {
  const extension = extensionOf(path)
  if (IMAGES.has(extension)) return 'image'
  if (BINARY.has(extension)) return 'binary'
  if (extension === 'md' || extension === 'markdown') return 'markdown'
  if (extension === 'csv' || extension === 'tsv') return 'csv'
  if (extension === 'json') return 'json'
  return languageOf(path) ? 'code' : 'text'
}
