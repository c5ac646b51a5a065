import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The header in which clients and proxies send the id of a request, and in which every answer has it (W3). */
export const requestIdHeader = 'x-request-id'

/** Ids that are taken over. They are written to the log, the audit trail and pages. */
const legal = /^[\w.:@+/=-]{1,128}$/
/** A `traceparent` with its trace id (https://www.w3.org/TR/trace-context/#traceparent-header); ids of zeros and ff are invalid. */
const traced = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|(?<!^00.*)-)/

/** Each event loop has a prefix, so that no two ids are the same. An id is no secret. */
const prefix = randomBytes(9).toString('base64url')
let last = 0

export const newRequestId = (): string => `${prefix}.${(++last).toString(36)}`

/** Returns the id that a request was sent with, else that of its trace, else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const sent = headers[requestIdHeader]
  if (typeof sent === 'string' && legal.test(sent)) return sent
  const { traceparent } = headers
  const trace = typeof traceparent === 'string' ? traced.exec(traceparent)?.[1] : undefined
  return trace ?? newRequestId()
}
