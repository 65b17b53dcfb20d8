import type { FileChange } from '@/api/types'

/** A file that is gone, or a folder with all that was in it. Pure. */
export interface Gone {
  key: string
  /** null for a file that was deleted by itself. */
  folder: string | null
  changes: FileChange[]
}

/** The list of deletions, newest first, with what was deleted as one folder taken together. */
export function asDeleted(changes: FileChange[]): Gone[] {
  const found: Gone[] = []
  for (const change of changes) {
    const last = found.at(-1)
    const before = last?.changes[0]
    if (last?.folder && last.folder === change.folder && before?.run_id === change.run_id && before?.user_id === change.user_id) last.changes.push(change)
    else found.push({ key: change.id, folder: change.folder ?? null, changes: [change] })
  }
  return found
}

interface Pages {
  all: () => Gone[]
  hasMore: () => boolean
  fetchMore: () => Promise<unknown>
}
/** All that went with a folder, also what is on pages that were not loaded yet. */
export async function wholeOf(gone: Gone, pages: Pages): Promise<FileChange[]> {
  const now = () => pages.all().find((other) => other.key === gone.key) ?? gone
  for (let size = -1; gone.folder && pages.hasMore() && pages.all().at(-1)?.key === gone.key && size < now().changes.length; ) {
    size = now().changes.length
    await pages.fetchMore()
  }
  return now().changes
}
