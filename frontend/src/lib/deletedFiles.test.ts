import { describe, expect, it } from 'vitest'
import type { FileChange } from '@/api/types'
import { deletedFiles } from './deletedFiles'

const change = (id: string, action: FileChange['action'], path: string, more: Partial<FileChange> = {}): FileChange => ({
  id, action, path, new_path: null, before_hash: null, after_hash: null, before_size: 1, after_size: null, run_id: null, user_id: null, created_at: '2026-01-01T00:00:00Z', ...more,
})
const ids = (changes: FileChange[]) => deletedFiles(changes).map((one) => one.id)

describe('deletedFiles', () => {
  it('are those whose last change is a deletion', () => {
    expect(ids([change('3', 'delete', 'a'), change('2', 'write', 'b'), change('1', 'delete', 'b')])).toEqual(['3'])
  })

  it('are none that were put back, or written anew, or moved there', () => {
    expect(ids([change('2', 'delete', 'a', { reverted_at: '2026-01-02T00:00:00Z' }), change('1', 'write', 'a')])).toEqual([])
    expect(ids([change('2', 'move', 'x', { new_path: 'a' }), change('1', 'delete', 'a')])).toEqual([])
  })
})
