import type { Routes } from './api.ts'
import type { Send } from './transport.ts'

export interface Request extends Send {
  /** Values for the parameters of the path, such as `{uuid}`. */
  readonly path?: Readonly<Record<string, string | number | bigint>>
  /** Sends no token even if there is a session. */
  readonly anonymous?: boolean
}

/** The part of a client that records and lists need. */
export interface Requests {
  request(method: string, path: string, given?: Request): Promise<Response>
  /** Parses JSON. */
  parse(text: string): unknown
}

/** Options of a request to a described route. A body that is not JSON is given as `body`. */
type Given<R> = Omit<Request, 'path' | 'query' | 'json'> &
  (R extends { path: infer P } ? { readonly path: P } : unknown) &
  (R extends { query: infer Q } ? { readonly query?: Q } : { readonly query?: Send['query'] }) &
  (R extends { json: infer J } ? { readonly json?: J } : unknown)

type Answer<R> = R extends { answer: infer A } ? A : unknown

/**
 * The path itself, or `never` for a described one such as `/api/core/items/{uuid}`, which must be used with
 * its types.
 */
type Unknown<M extends keyof Routes, P extends string> = P extends keyof Routes[M] ? never : P

/** A request with this method, to a described route with its types, or to any other path or link. */
export interface Ask<M extends keyof Routes> {
  <P extends keyof Routes[M] & string>(
    path: P,
    ...given: Routes[M][P] extends { path: unknown }
      ? [given: Given<Routes[M][P]>]
      : [given?: Given<Routes[M][P]>]
  ): Promise<Answer<Routes[M][P]>>
  <T = unknown, P extends string = string>(path: Unknown<M, P>, given?: Request): Promise<T>
}

/** The type of an element in a list of this route. */
export type Element<P extends keyof Routes['get']> =
  Answer<Routes['get'][P]> extends { readonly _embedded: infer E }
    ? E[keyof E] extends readonly (infer T)[]
      ? T
      : unknown
    : unknown

/**
 * Returns a path, or the path of a link from `/api` on. The host of a link is ignored, so that no token goes
 * elsewhere.
 */
export function pathIn(link: string, values: Request['path'] = {}): string {
  if (!/^https?:/.test(link))
    return link.replaceAll(/\{(\w+)\}/g, (whole, name) =>
      name in values ? encodeURIComponent(String(values[name])) : whole,
    )
  const { pathname, search } = new URL(link)
  return pathname.replace(/^.*?(\/server)?(?=\/api(\/|$))/, '') + search
}

/** Reads a response: JSON as a value, other text as a string, and an empty body as undefined. */
export async function read(response: Response, parse: Requests['parse']): Promise<unknown> {
  const text = await response.text()
  if (text === '') return undefined
  return /\bjson\b/.test(response.headers.get('content-type') ?? '') ? parse(text) : text
}
