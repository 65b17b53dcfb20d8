/** An answer of the server that is not 2xx, read as RFC 9457; status 0 means that no answer came. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly extra: {
      errors?: Record<string, string[]>
      suggestion?: string
      retryable?: boolean
      requestId?: string
      retryAfter?: number
    } = {},
  ) {
    super(detail || code)
    this.name = 'ApiError'
  }

  get offline(): boolean {
    return this.status === 0
  }
  get notFound(): boolean {
    return this.status === 404
  }
  get retryable(): boolean {
    return this.extra.retryable ?? (this.status === 0 || this.status === 429 || this.status >= 500)
  }
}

interface ProblemBody {
  code?: string
  title?: string
  detail?: string
  errors?: Record<string, string[] | string>
  suggestion?: string
  retryable?: boolean
  request_id?: string
}

/** Reads the body of a failed response; a body that is no JSON still gives a usable error. */
export async function problemFrom(response: Response): Promise<ApiError> {
  let body: ProblemBody = {}
  try {
    body = (await response.json()) as ProblemBody
  } catch {
    // A proxy's HTML page, or nothing at all: the status says enough.
  }
  const errors = Object.fromEntries(
    Object.entries(body.errors ?? {}).map(([field, texts]) => [field, Array.isArray(texts) ? texts : [texts]]),
  )
  return new ApiError(response.status, body.code ?? `http_${response.status}`, body.detail ?? body.title ?? '', {
    errors,
    suggestion: body.suggestion,
    retryable: body.retryable,
    requestId: body.request_id ?? response.headers.get('X-Request-ID') ?? undefined,
    retryAfter: Number(response.headers.get('Retry-After')) || undefined,
  })
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError(0, 'client_error', error instanceof Error ? error.message : String(error), { retryable: false })
}
