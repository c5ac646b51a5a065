import { Problem } from './problems.ts'

/** Conditional requests (RFC 9110 §13) for resources with a strong entity tag and no date. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * Evaluates If-Match and If-None-Match in the order of RFC 9110 §13.2.2.
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
 * Checks the preconditions of a request that changes a resource.
 * @param tag the entity tag of the resource; undefined if it doesn't exist
 * @param what names it in messages, such as `record`
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

/**
 * Checks only If-Match, for requests that replace an existing resource: If-None-Match has no meaning there.
 * @throws Problem 412
 */
export const requireMatch = (headers: Headers, tag: string, what: string): void =>
  requireState({ 'if-match': headers['if-match'] }, tag, what)

export const changed = (what: string, tag: string): Problem =>
  new Problem('precondition-failed', `The ${what} has changed. Its entity tag is ${tag}.`, {
    headers: { etag: tag },
  })

/** The problem of a change that lost against a concurrent one. */
export const stale = (what: string): Problem =>
  new Problem('precondition-failed', `The ${what} was changed meanwhile. Read it again.`)

/**
 * True if the Range header applies: there is no If-Range, or it has this file's tag. A date never matches
 * (RFC 9110 §13.1.5).
 */
export const rangeCounts = (headers: Headers, etag: string): boolean => {
  const ifRange = text(headers['if-range'])
  return ifRange === undefined || ifRange.trim() === etag
}

const text = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(',') : value)

/** Splits a list of entity tags. A tag may contain a comma (RFC 9110 §8.8.3). */
const tags = (list: string): readonly string[] => list.match(/\*|(?:W\/)?"[^"]*"/g) ?? []
