import { X509Certificate } from 'node:crypto'
import { boundedFetch } from '../oidc-client.ts'
import { error, type Found, ok, warning } from './findings.ts'

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

const day = 24 * 3_600_000

export function* checkCertificate(name: string, pem: string): Iterable<Found> {
  const certificate = new X509Certificate(pem)
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
  const bits = certificate.publicKey.asymmetricKeyDetails?.modulusLength
  if (to < Date.now()) yield error(`${name} expired on ${dateOf(to)}`)
  else if (from > Date.now()) yield error(`${name} is valid only from ${dateOf(from)}`)
  else if (to < Date.now() + 30 * day) yield warning(`${name} expires on ${dateOf(to)}`)
  else yield ok(`${name} is valid until ${dateOf(to)}`)
  if (bits !== undefined && bits < 2048) yield warning(`${name} has a key of only ${bits} bits`)
}

export const dateOf = (time: number): string => new Date(time).toISOString().slice(0, 10)
