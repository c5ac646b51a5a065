import { boundedFetch } from '../oidc-client.ts'
import { error, type Found, warning } from './findings.ts'

/** Time in ms that a provider has to answer. */
const patience = 5_000

/** @param tolerance in seconds */
export async function* checkClock(url: string, tolerance: number): AsyncIterable<Found> {
  const answer = await ask(url)
  if (!answer) {
    yield warning(`${url} cannot be reached from this machine; browsers must be able to reach it`)
    return
  }
  const theirs = Date.parse(answer.headers.get('date') ?? '')
  const seconds = Math.round((Date.now() - theirs) / 1000)
  if (Math.abs(seconds) > tolerance)
    yield error(
      `the clock here is ${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the provider’s; ${tolerance} s are allowed: use NTP on both sides`,
    )
}

/** @returns undefined if there is no response in time */
export async function ask(url: string): Promise<Response | undefined> {
  try {
    return await boundedFetch(url, { redirect: 'manual', signal: AbortSignal.timeout(patience) })
  } catch {
    return undefined
  }
}
