import { X509Certificate } from 'node:crypto'
import { boundedFetch } from '../oidc-client.ts'
import { error, type Found, ok, warning } from './findings.ts'

/** Time in ms that a provider has to answer. */
const patience = 5_000

/** @param tolerance in seconds */
export async function* checkClock(url: string, tolerance: number): AsyncIterable<Found> {
  const answer = await ask(url)
  if (!answer) {
    yield warning('address-unreachable', { address: url })
    return
  }
  const theirs = Date.parse(answer.headers.get('date') ?? '')
  const seconds = Math.round((Date.now() - theirs) / 1000)
  if (Math.abs(seconds) > tolerance)
    yield error(seconds > 0 ? 'clock-ahead' : 'clock-behind', {
      seconds: Math.abs(seconds),
      allowedSeconds: tolerance,
    })
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

export function* checkCertificate(certificate: string, pem: string): Iterable<Found> {
  const { validFrom, validTo, publicKey } = new X509Certificate(pem)
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)]
  const bits = publicKey.asymmetricKeyDetails?.modulusLength
  const dated = { certificate, date: dateOf(to) }
  if (to < Date.now()) yield error('certificate-expired', dated)
  else if (from > Date.now()) yield error('certificate-early', { certificate, date: dateOf(from) })
  else if (to < Date.now() + 30 * day) yield warning('certificate-expires', dated)
  else yield ok('certificate-valid', dated)
  if (bits !== undefined && bits < 2048) yield warning('certificate-weak', { certificate, bits })
}

export const dateOf = (time: number): string => new Date(time).toISOString().slice(0, 10)
