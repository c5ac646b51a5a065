/** Conditional requests (RFC 9110 §13) on a file that has a strong entity tag and no date. Pure. */
export type Headers = Readonly<Record<string, string | string[] | undefined>>

/**
 * In the order of RFC 9110 §13.2.2.
 * @param etag of the file, with its quotes
 * @returns the status of an answer without the file; undefined where it is to be sent
 */
export function precondition(headers: Headers, etag: string): 304 | 412 | undefined {
  const ifMatch = text(headers['if-match'])
  if (ifMatch !== undefined && !tags(ifMatch).some(tag => tag === '*' || tag === etag)) return 412
  const ifNoneMatch = text(headers['if-none-match'])
  // Weak comparison (RFC 9110 §8.8.3.2): ours are never weak, a client's may have become so on the way.
  const known =
    ifNoneMatch !== undefined &&
    tags(ifNoneMatch).some(tag => tag === '*' || tag.replace(/^W\//, '') === etag)
  return known ? 304 : undefined
}

/** Whether the header Range counts: with If-Range only for exactly this file (RFC 9110 §13.1.5); a date is never it. */
export const rangeCounts = (headers: Headers, etag: string): boolean => {
  const ifRange = text(headers['if-range'])
  return ifRange === undefined || ifRange.trim() === etag
}

const text = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(',') : value)

/** A comma may be part of a tag (RFC 9110 §8.8.3). */
const tags = (list: string): readonly string[] => list.match(/\*|(?:W\/)?"[^"]*"/g) ?? []
