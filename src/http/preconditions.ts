import { Problem } from './problems.ts'

/** Conditional requests (RFC 9110 §13) for what has a strong entity tag and no date. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * In the order of RFC 9110 §13.2.2.
 * @param etag of the file, with its quotes
 * @returns the status of a response without the file; undefined if the file is to be sent
 */
export function precondition(headers: Headers, etag: string): 304 | 412 | undefined {
  const ifMatch = text(headers['if-match'])
  if (ifMatch !== undefined && !tags(ifMatch).some(tag => tag === '*' || tag === etag)) return 412
  const ifNoneMatch = text(headers['if-none-match'])
  // Weak comparison (RFC 9110 §8.8.3.2): our tags are strong, but a proxy may have weakened the client's.
  const known =
    ifNoneMatch !== undefined &&
    tags(ifNoneMatch).some(tag => tag === '*' || tag.replace(/^W\//, '') === etag)
  return known ? 304 : undefined
}

/**
 * What a request demands of a thing before it changes it.
 * @param tag of the thing; undefined: there is none
 * @param what it is, such as `record`
 * @throws Problem 412
 */
export function requireState(headers: Headers, tag: string | undefined, what: string): void {
  if (tag === undefined) {
    if (headers['if-match'] === undefined) return
    throw new Problem('precondition-failed', `There is no such ${what}, so it can’t match If-Match.`)
  }
  const failed = precondition(headers, tag)
  if (failed === 412) throw changed(what, tag)
  if (failed === 304)
    throw new Problem('precondition-failed', `The ${what} is there already. Its entity tag is ${tag}.`, {
      headers: { etag: tag },
    })
}

/** The same of requests that replace what is there, whose If-None-Match means nothing. @throws Problem 412 */
export const requireMatch = (headers: Headers, tag: string, what: string): void =>
  requireState({ 'if-match': headers['if-match'] }, tag, what)

export const changed = (what: string, tag: string): Problem =>
  new Problem('precondition-failed', `The ${what} has changed. Its entity tag is ${tag}.`, {
    headers: { etag: tag },
  })

/** For a change that lost against another one. */
export const stale = (what: string): Problem =>
  new Problem('precondition-failed', `The ${what} was changed meanwhile. Read it again.`)

/** Whether the Range header applies. With If-Range only if it has this file's tag; a date never matches (RFC 9110 §13.1.5). */
export const rangeCounts = (headers: Headers, etag: string): boolean => {
  const ifRange = text(headers['if-range'])
  return ifRange === undefined || ifRange.trim() === etag
}

const text = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(',') : value)

/** A tag may contain a comma (RFC 9110 §8.8.3). */
const tags = (list: string): readonly string[] => list.match(/\*|(?:W\/)?"[^"]*"/g) ?? []
