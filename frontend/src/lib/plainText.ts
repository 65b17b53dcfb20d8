/** Markdown without its marks, for pasting where marks would be noise. Code keeps its text. */
export function plainText(markdown: string): string {
  const fenced = markdown.split(/^(```.*\n[\s\S]*?^```)\s*$/m)
  return fenced
    .map((part) => {
      if (part.startsWith('```')) return part.replace(/^```.*\n/, '').replace(/\n```$/, '')
      return part
        .replace(/^#{1,6}\s+/gm, '')
        .replace(/^>\s?/gm, '')
        .replace(/!?\[([^\]]*)\]\(([^)\s]+)[^)]*\)/g, '$1')
        .replace(/(\*\*|__)(?=\S)([\s\S]*?\S)\1/g, '$2')
        .replace(/`([^`]+)`/g, '$1')
    })
    .join('')
}
