import type { Schemas } from './api.ts'

/** Those of the service, and the client's own: `unknown` is an answer of what stands between. */
export type Code = Schemas['Problem']['code'] | 'session-over' | 'file-changed' | 'unknown'

/**
 * An error that the service answered with (RFC 9457). `code` says what it is; `detail` is a sentence for people;
 * `members` has the rest, such as `parameter`, `pointer`, `legal` and `nearest`.
 */
export class CarrelProblem extends Error {
  override readonly name = 'CarrelProblem'
  readonly status: number
  readonly code: Code
  readonly title: string
  readonly detail: string
  readonly members: Readonly<Record<string, unknown>>
  /** In seconds, where the service says when to try again. */
  readonly retryAfter: number | undefined
  /** Of the answer. */
  readonly headers: Headers

  constructor(body: Readonly<Record<string, unknown>>, headers = new Headers()) {
    const { status, code, title, detail, ...members } = body
    const text = (value: unknown, fallback: string) => (typeof value === 'string' ? value : fallback)
    super(text(detail, text(title, `The service answered ${status}.`)))
    this.status = Number(status)
    // A newer service may have codes that are not among these.
    this.code = text(code, 'unknown') as Code
    this.title = text(title, this.message)
    this.detail = this.message
    this.members = members
    this.headers = headers
    const seconds = headers.get('retry-after')
    this.retryAfter = seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) : undefined
  }
}

/** No answer came, or it broke off: the line, the name of the host, a certificate, CORS. `cause` has what is known. */
export class CarrelNetworkError extends Error {
  override readonly name = 'CarrelNetworkError'
}

/** Reads what a failed request was answered with. What stands between may answer with something else, such as a page. */
export async function problemOf(response: Response): Promise<CarrelProblem> {
  const { status, statusText, headers } = response
  const isJson = /\bjson\b/.test(headers.get('content-type') ?? '')
  const body = await response.text().catch(() => '')
  const members: unknown = isJson ? parsed(body) : undefined
  return new CarrelProblem(
    { title: statusText || `The answer was ${status}`, ...(members ?? {}), status },
    headers,
  )
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What went wrong on the way, unless the caller has ended the request. */
export function brokenLine(error: unknown, what: string, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason
  if (error instanceof CarrelNetworkError || error instanceof CarrelProblem) return error
  return new CarrelNetworkError(`${what}: ${error instanceof Error ? error.message : error}`, {
    cause: error,
  })
}
