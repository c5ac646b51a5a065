/** Conditional requests (RFC 9110 §13) for a file with a strong entity tag and no date. Pure. */
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

/** Whether the Range header applies. With If-Range only if it has this file's tag; a date never matches (RFC 9110 §13.1.5). */
export const rangeCounts = (headers: Headers, etag: string): boolean => {
  const ifRange = text(headers['if-range'])
  return ifRange === undefined || ifRange.trim() === etag
}

const text = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(',') : value)

/** A tag may contain a comma (RFC 9110 §8.8.3). */
const tags = (list: string): readonly string[] => list.match(/\*|(?:W\/)?"[^"]*"/g) ?? []
