import { type Headers, precondition } from '../http/preconditions.ts'
import { Problem } from '../http/problems.ts'

/**
 * What a request demands of the record before it changes it (RFC 9110 §13.2.2).
 * @param tag undefined: there is no such record
 * @throws Problem 412
 */
export function requirePrecondition(headers: Headers, tag: string | undefined): void {
  if (tag === undefined) {
    if (headers['if-match'] === undefined) return
    throw new Problem('precondition-failed', 'There is no such record, so it can’t match If-Match.')
  }
  const failed = precondition(headers, tag)
  if (failed === undefined) return
  throw new Problem(
    'precondition-failed',
    failed === 412
      ? `The record has changed. Its entity tag is ${tag}.`
      : `The record is there already. Its entity tag is ${tag}.`,
    { headers: { etag: tag } },
  )
}
