import type { ServerResponse } from 'node:http'

/** @returns a signal that is aborted when the client disconnects, so that no more work is done for it (Q10) */
export function clientSignal(response: ServerResponse): AbortSignal {
  if (response.destroyed) return AbortSignal.abort()
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  return gone.signal
}
