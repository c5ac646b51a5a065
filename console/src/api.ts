import { CarrelNetworkError, CarrelProblem } from './problem.ts'
import { recall, remember } from './settings.ts'

/** The only file that knows how the service is reached. */
export { CarrelNetworkError, CarrelProblem }

const root = new URL('..', document.baseURI).href.replace(/\/$/, '')
const queryBase =
  document.querySelector<HTMLMetaElement>('meta[name="carrel-query"]')?.content ?? '/api/query/v4'

export interface Send {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly body?: BodyInit
  readonly signal?: AbortSignal | undefined
}

let pair: string | undefined
let token = recall('token')

/** @param path below the base URL, such as `/api/authn/status`; below the query base without it, as `query:letters` */
export async function send(method: string, path: string, given: Send = {}): Promise<Response> {
  const { query = {}, json, body, signal } = given
  const address = path.startsWith('query:')
    ? new URL(queryBase + (path === 'query:' ? '' : `/${path.slice(6)}`), root).href
    : root + path
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value))
  const url = parameters.size === 0 ? address : `${address}?${parameters}`
  for (let again = 0; ; again++) {
    const headers = new Headers(given.headers)
    if (token) headers.set('authorization', `Bearer ${token}`)
    if (pair) headers.set('x-xsrf-token', pair)
    if (!headers.has('accept')) headers.set('accept', 'application/json, */*;q=0.5')
    if (json !== undefined) headers.set('content-type', 'application/json')
    const init: RequestInit = { method, headers }
    const content = json === undefined ? body : JSON.stringify(json)
    if (content !== undefined) init.body = content
    if (signal) init.signal = signal
    let response: Response
    try {
      response = await fetch(url, init)
    } catch (error) {
      if (signal?.aborted) throw error
      throw new CarrelNetworkError(String(error))
    }
    pair = response.headers.get('dspace-xsrf-token') ?? pair
    if (response.ok) return response
    const problem = new CarrelProblem({
      ...(await response.json().catch(() => ({ title: response.statusText }))),
      status: response.status,
    })
    if (again === 0 && problem.code.startsWith('csrf-')) continue
    throw problem
  }
}

export const read = async <T>(path: string, given?: Send): Promise<T> =>
  (await (await send('GET', path, given)).json()) as T

export async function login(user: string, password: string): Promise<void> {
  token = null
  const response = await send('POST', '/api/authn/login', { body: new URLSearchParams({ user, password }) })
  keep(response.headers.get('authorization')?.replace(/^Bearer /, '') ?? null)
}

export async function logout(): Promise<void> {
  await send('POST', '/api/authn/logout')
  keep(null)
}

export const hasToken = (): boolean => token !== null

export function keep(value: string | null): void {
  token = value
  remember('token', value)
}

/** When the token ends, in milliseconds since 1970. */
export function expiry(): number | undefined {
  try {
    const [, payload = ''] = (token ?? '').split('.')
    const { exp } = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) as { exp?: number }
    return exp === undefined ? undefined : exp * 1000
  } catch {
    return undefined
  }
}
