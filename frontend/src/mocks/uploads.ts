import { writeFile } from './db'

const STEP_MS = 80
const STEPS = 6

/** Answers the uploads, which go through XMLHttpRequest because of their progress. */
export function installUploads(): void {
  class MockXhr {
    upload: { onprogress?: (event: Partial<ProgressEvent>) => void } = {}
    onload?: () => void
    onabort?: () => void
    onerror?: () => void
    status = 0
    response: unknown = null
    responseType = ''
    private url = new URL('/', location.origin)
    private timer: ReturnType<typeof setInterval> | undefined
    open(_method: string, url: string) {
      this.url = new URL(url, location.origin)
    }
    setRequestHeader() {}
    abort() {
      clearInterval(this.timer)
      this.onabort?.()
    }
    send(form: FormData) {
      const file = form.get('file') as File
      let step = 0
      this.timer = setInterval(() => {
        step += 1
        this.upload.onprogress?.({ lengthComputable: true, loaded: (file.size * step) / STEPS, total: file.size })
        if (step < STEPS) return
        clearInterval(this.timer)
        const project = this.url.pathname.split('/')[3]!
        const folder = this.url.searchParams.get('path')
        this.status = 201
        this.response = writeFile(project, folder ? `${folder}/${file.name}` : file.name, file)
        this.onload?.()
      }, STEP_MS)
    }
  }
  window.XMLHttpRequest = MockXhr as unknown as typeof XMLHttpRequest
}
