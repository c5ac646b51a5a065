import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** The header in which clients and proxies send the id of a request, and in which every answer has it (W3). */
export const requestIdHeader = 'x-request-id'

/** Ids that are taken over. They are written to the log, the audit trail and pages. */
const legal = /^[\w.:@+/=-]{1,128}$/
/** A `traceparent` with its trace id (https://www.w3.org/TR/trace-context/#traceparent-header); ids of zeros and ff are invalid. */
const traced = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:$|(?<!^00.*)-)/

/** An id is no secret, but a number would tell how many requests others send. */
export const newRequestId = (): string => randomUUID()

/** Returns the id that a request was sent with, else that of its trace, else a new one. */
export function requestIdOf({ headers }: IncomingMessage): string {
  const sent = headers[requestIdHeader]
  if (typeof sent === 'string' && legal.test(sent)) return sent
  const { traceparent } = headers
  const trace = typeof traceparent === 'string' ? traced.exec(traceparent)?.[1] : undefined
  return trace ?? newRequestId()
}
