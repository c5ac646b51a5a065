import { X509Certificate } from 'node:crypto'
import { error, type Found, ok, warning } from './findings.ts'

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
