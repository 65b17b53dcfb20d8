/** Files to upload, each with the folder it came in (relative to what was dropped or chosen). */
export interface PlacedFile {
  file: File
  folder: string
}

const folderPart = (path: string) => path.split('/').slice(0, -1).join('/')

/** Files of an input; a chosen folder comes with the relative path of each. */
export const placed = (files: Iterable<File>): PlacedFile[] => [...files].map((file) => ({ file, folder: folderPart(file.webkitRelativePath ?? '') }))

async function readAll(reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> {
  const found: FileSystemEntry[] = []
  // A reader gives at most 100 entries at a time.
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (!some.length) return found
    found.push(...some)
  }
}

async function walk(entry: FileSystemEntry, folder: string): Promise<PlacedFile[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    return [{ file, folder }]
  }
  const inner = folder ? `${folder}/${entry.name}` : entry.name
  const entries = await readAll((entry as FileSystemDirectoryEntry).createReader())
  return (await Promise.all(entries.map((child) => walk(child, inner)))).flat()
}

/** Everything in a drop or paste, folders with all that is in them. Must be called within the event. */
export async function droppedFiles(data: DataTransfer): Promise<PlacedFile[]> {
  const entries = [...data.items].filter((item) => item.kind === 'file').map((item) => item.webkitGetAsEntry?.() ?? null)
  if (!entries.some((entry) => entry?.isDirectory)) return placed(data.files)
  return (await Promise.all(entries.filter((entry) => entry !== null).map((entry) => walk(entry, '')))).flat()
}
