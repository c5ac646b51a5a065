import { createPrivateKey, X509Certificate } from 'node:crypto'
import { closeSync, openSync, readSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { SamlServiceProvider } from './providers.ts'
import { isPlaceholder } from './settings.ts'

/** A reference to a secret, so that the configuration file itself can be shared. */
export type SecretPlace = { readonly env: string } | { readonly file: string }

export interface SamlBlock {
  readonly entityId?: string
  readonly privateKey?: SecretPlace
  readonly certificate?: SecretPlace
  readonly clockSkew: number
}

/** Makes the error that says what is wrong, and where. */
export type Complain = (where: string, what: string) => Error

export interface Surroundings {
  /** The configuration file: relative paths are relative to its folder. */
  readonly file: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly baseUrl: string
  readonly allowedOrigins: readonly string[]
  readonly complain: Complain
}

export function readSaml(given: SamlBlock, surroundings: Surroundings): SamlServiceProvider {
  const { complain, baseUrl } = surroundings
  const entityId = given.entityId ?? `${baseUrl}/api/authn/sso/saml/metadata`
  const { privateKey, certificate, clockSkew } = given
  if (privateKey === undefined && certificate === undefined) return { entityId, keys: null, clockSkew }
  if (privateKey === undefined || certificate === undefined)
    throw complain('saml', 'privateKey and certificate must both be set')
  const keys = {
    privateKey: readSecret(privateKey, 'saml.privateKey', surroundings),
    certificate: readSecret(certificate, 'saml.certificate', surroundings),
  }
  let fits: boolean
  try {
    fits = new X509Certificate(keys.certificate).checkPrivateKey(createPrivateKey(keys.privateKey))
  } catch {
    throw complain('saml', 'privateKey and certificate must be PEM, the key without a passphrase')
  }
  if (!fits) throw complain('saml', 'the certificate does not match the private key')
  if (createPrivateKey(keys.privateKey).asymmetricKeyType !== 'rsa')
    throw complain('saml.privateKey', 'must be an RSA key, the only kind that all SAML providers support')
  return { entityId, keys, clockSkew }
}

/** @throws Error that names the setting and its place, never the value */
export function readSecret(place: SecretPlace, where: string, surroundings: Surroundings): string {
  const secret = secretAt(place, where, surroundings)
  if (isPlaceholder(secret))
    throw surroundings.complain(
      where,
      `${'env' in place ? `the environment variable ${place.env}` : `the file ${place.file}`} has a placeholder such as \${NAME} and not the secret: nothing has replaced it`,
    )
  return secret
}

function secretAt(place: SecretPlace, where: string, { file, env, complain }: Surroundings): string {
  if ('env' in place) {
    const value = env[place.env]
    if (!value) throw complain(where, `the environment variable ${place.env} is not set`)
    return value
  }
  try {
    return secretIn(resolve(dirname(file), place.file), place.file)
  } catch (error) {
    throw complain(where, (error as Error).message)
  }
}

/** Maximum size in bytes of a file with a secret. A path may also name a pipe or a device, which have no size. */
const largestSecret = 64 * 1024

/**
 * Reads a secret from a file, without the line break at its end.
 * @param shown the path as messages show it
 * @throws Error that says what is wrong with the file, never what is in it
 */
export function secretIn(path: string, shown = path): string {
  const bytes = Buffer.alloc(largestSecret + 1)
  let length = 0
  try {
    const file = openSync(path, 'r')
    try {
      for (let read = -1; read !== 0 && length < bytes.length; length += read)
        read = readSync(file, bytes, length, bytes.length - length, null)
    } finally {
      closeSync(file)
    }
  } catch (error) {
    throw new Error(`the file ${shown} can't be read (${(error as NodeJS.ErrnoException).code})`)
  }
  if (length > largestSecret) throw new Error(`the file ${shown} is larger than 64 kB, so it is no secret`)
  const content = bytes.toString('utf8', 0, length).replace(/\r?\n$/, '')
  if (content === '') throw new Error(`the file ${shown} is empty`)
  return content
}

/** Lists the environment variables that the file names for secrets. The operator chooses their names. */
export function secretVariables(given: unknown): readonly string[] {
  if (typeof given !== 'object' || given === null) return []
  return Object.entries(given).flatMap(([name, value]) =>
    name === 'env' && typeof value === 'string' ? [value] : secretVariables(value),
  )
}
