import type { FileChange } from '@/api/types'

/** The files that a project's changes (newest first) leave deleted, each with the change that can be taken back. */
export function deletedFiles(changes: readonly FileChange[]): FileChange[] {
  const seen = new Set<string>()
  const gone: FileChange[] = []
  for (const change of changes) {
    if (change.reverted_at || change.action === 'mkdir') continue
    if (!seen.has(change.path) && change.action === 'delete') gone.push(change)
    seen.add(change.path)
    if (change.new_path) seen.add(change.new_path)
  }
  return gone
}
