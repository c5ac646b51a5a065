import type { Routes } from './api.ts'
import type { Send } from './transport.ts'

export interface Request extends Send {
  /** What stands for `{uuid}` and the like in the path. */
  readonly path?: Readonly<Record<string, string | number | bigint>>
  /** Without the token, also if somebody is logged in. */
  readonly anonymous?: boolean
}

/** What can be asked: all that records and lists know of a client. */
export interface Requests {
  request(method: string, path: string, given?: Request): Promise<Response>
  /** Reads JSON. */
  parse(text: string): unknown
}

/** Of a route that the service describes, what it takes; a body that is no JSON is given as `body`. */
type Given<R> = Omit<Request, 'path' | 'query' | 'json'> &
  (R extends { path: infer P } ? { readonly path: P } : unknown) &
  (R extends { query: infer Q } ? { readonly query?: Q } : { readonly query?: Send['query'] }) &
  (R extends { json: infer J } ? { readonly json?: J } : unknown)

type Answer<R> = R extends { answer: infer A } ? A : unknown

/** A path that is described, such as `/api/core/items/{uuid}`, is checked as described. */
type Unknown<M extends keyof Routes, P extends string> = P extends keyof Routes[M] ? never : P

/** A request of this method, by the path of a route with its types, or by any path or link. */
export interface Ask<M extends keyof Routes> {
  <P extends keyof Routes[M] & string>(
    path: P,
    ...given: Routes[M][P] extends { path: unknown }
      ? [given: Given<Routes[M][P]>]
      : [given?: Given<Routes[M][P]>]
  ): Promise<Answer<Routes[M][P]>>
  <T = unknown, P extends string = string>(path: Unknown<M, P>, given?: Request): Promise<T>
}

/** What a page of this route has. */
export type Element<P extends keyof Routes['get']> =
  Answer<Routes['get'][P]> extends { readonly _embedded: infer E }
    ? E[keyof E] extends readonly (infer T)[]
      ? T
      : unknown
    : unknown

/** A path, or a link of the service, as this service is reached: from `/api` on. No token goes elsewhere. */
export function pathIn(link: string, values: Request['path'] = {}): string {
  if (!/^https?:/.test(link))
    return link.replaceAll(/\{(\w+)\}/g, (whole, name) =>
      name in values ? encodeURIComponent(String(values[name])) : whole,
    )
  const { pathname, search } = new URL(link)
  return pathname.replace(/^.*?(\/server)?(?=\/api(\/|$))/, '') + search
}

/** JSON as it is, other text as text, and nothing of an empty answer. */
export async function read(response: Response, parse: Requests['parse']): Promise<unknown> {
  const text = await response.text()
  if (text === '') return undefined
  return /\bjson\b/.test(response.headers.get('content-type') ?? '') ? parse(text) : text
}
