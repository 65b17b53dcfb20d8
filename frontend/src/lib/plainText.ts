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

/** The same for the beginning of a text that was put on one line, where fences and headings have lost their lines. */
export function plainLine(markdown: string): string {
  return plainText(markdown.replace(/```\w*/g, ' ').replace(/(^|\s)#{2,6}(?=\s)/g, '$1')).replace(/\s+/g, ' ').trim()
}
