import type { ServerResponse } from 'node:http'

/** @returns a signal for when the client that asked has gone away, so that nobody works for it any more (Q10) */
export function clientSignal(response: ServerResponse): AbortSignal {
  if (response.destroyed) return AbortSignal.abort()
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  return gone.signal
}
