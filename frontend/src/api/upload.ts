import { ApiError } from './problem'
import { currentCsrfToken, urlOf } from './client'
import type { FileEntry } from './types'

export interface UploadOptions {
  projectId: string
  file: File
  folder?: string
  onConflict?: 'fail' | 'replace' | 'keep_both'
  onProgress?: (fraction: number) => void
  signal?: AbortSignal
}

/** Uploads one file with progress. fetch() cannot tell how much is sent, so this is XMLHttpRequest. */
export function uploadFile(options: UploadOptions): Promise<FileEntry> {
  const url = urlOf(`/api/projects/${options.projectId}/files/upload`, {
    path: options.folder,
    on_conflict: options.onConflict ?? 'keep_both',
  })
  const form = new FormData()
  form.append('file', options.file, options.file.name)
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', url)
    request.setRequestHeader('X-CSRF-Token', currentCsrfToken())
    request.responseType = 'json'
    request.upload.onprogress = (event) => event.lengthComputable && options.onProgress?.(event.loaded / event.total)
    request.onerror = () => reject(new ApiError(0, 'offline', 'The server could not be reached'))
    request.onabort = () => reject(new DOMException('Upload cancelled', 'AbortError'))
    request.onload = () => {
      const body = (request.response ?? {}) as FileEntry & { code?: string; detail?: string }
      if (request.status < 300) resolve(body)
      else reject(new ApiError(request.status, body.code ?? `http_${request.status}`, body.detail ?? ''))
    }
    options.signal?.addEventListener('abort', () => request.abort())
    request.send(form)
  })
}
