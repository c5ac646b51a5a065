import type { Schemas } from './api.ts'

/**
 * Codes of the service, and those of the client. `unknown` stands for an error that did not come from the
 * service, such as a proxy's.
 */
export type Code = Schemas['Problem']['code'] | 'session-over' | 'file-changed' | 'unknown'

/**
 * An error that the service answered with (RFC 9457). `code` identifies it, `detail` is a sentence for
 * people, and `members` has the rest, such as `parameter`, `pointer`, `legal` and `nearest`.
 */
export class CarrelProblem extends Error {
  override readonly name = 'CarrelProblem'
  readonly status: number
  readonly code: Code
  readonly title: string
  readonly detail: string
  readonly members: Readonly<Record<string, unknown>>
  /** Seconds after which to try again, if the service names them. */
  readonly retryAfter: number | undefined
  /** Headers of the response. */
  readonly headers: Headers

  constructor(body: Readonly<Record<string, unknown>>, headers = new Headers()) {
    const { status, code, title, detail, ...members } = body
    const text = (value: unknown, fallback: string) => (typeof value === 'string' ? value : fallback)
    super(text(detail, text(title, `The service answered ${status}.`)))
    this.status = Number(status)
    // A newer service may send codes that this type doesn't list.
    this.code = text(code, 'unknown') as Code
    this.title = text(title, this.message)
    this.detail = this.message
    this.members = members
    this.headers = headers
    const seconds = headers.get('retry-after')
    this.retryAfter = seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) : undefined
  }
}

/**
 * There was no complete response, because of the connection, the host name, a certificate, or CORS. `cause`
 * has the details.
 */
export class CarrelNetworkError extends Error {
  override readonly name = 'CarrelNetworkError'
}

/** Turns a failed response into a problem. The body may be from a proxy and not be JSON. */
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

/** Wraps a failure of the connection, unless the caller has aborted the request. */
export function brokenLine(error: unknown, what: string, signal?: AbortSignal): unknown {
  if (signal?.aborted) return signal.reason
  if (error instanceof CarrelNetworkError || error instanceof CarrelProblem) return error
  return new CarrelNetworkError(`${what}: ${error instanceof Error ? error.message : error}`, {
    cause: error,
  })
}
