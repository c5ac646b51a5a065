import { createPrivateKey, X509Certificate } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
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
    privateKey: readSecret(privateKey, 'saml.privateKey', surroundings, 'lines'),
    certificate: readSecret(certificate, 'saml.certificate', surroundings, 'lines'),
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
export function readSecret(
  place: SecretPlace,
  where: string,
  surroundings: Surroundings,
  form: SecretForm = 'line',
): string {
  const secret = secretAt(place, where, surroundings, form)
  if (isPlaceholder(secret))
    throw surroundings.complain(
      where,
      `${'env' in place ? `the environment variable ${place.env}` : `the file ${place.file}`} has a placeholder such as \${NAME} and not the secret: nothing has replaced it`,
    )
  return secret
}

function secretAt(
  place: SecretPlace,
  where: string,
  { file, env, complain }: Surroundings,
  form: SecretForm,
): string {
  if ('env' in place) {
    const value = env[place.env]
    if (!value) throw complain(where, `the environment variable ${place.env} is not set`)
    return value
  }
  try {
    return secretIn(place.file, { folder: dirname(file), form })
  } catch (error) {
    throw complain(where, (error as Error).message)
  }
}

/** Maximum size in bytes of a file with a secret. A path may also name a pipe or a device, which have no size. */
const largestSecret = 64 * 1024
/** Times in ms that a pipe has: until a program writes to it, and for that program to write the secret. */
const patienceWithPipe = { unopened: 1_000, opened: 30_000 }
/** Pause in ms between two looks at a pipe. */
const lookAgainAfter = 10

/** A secret is one line, unless it is PEM. */
type SecretForm = 'line' | 'lines'

interface Reading {
  /** The folder of a relative path; the working directory if it isn't given. */
  readonly folder?: string
  readonly form?: SecretForm
}

/**
 * Reads a secret from a file, without the line break at its end.
 * @throws Error that says what is wrong with the file, never what is in it
 */
export function secretIn(path: string, { folder = '', form = 'line' }: Reading = {}): string {
  let bytes: Uint8Array
  try {
    bytes = bytesIn(resolve(folder, path))
  } catch (error) {
    if (error instanceof SilentPipe) throw new Error(`the file ${path} ${error.message}`)
    throw new Error(`the file ${path} can't be read (${(error as NodeJS.ErrnoException).code})`)
  }
  if (bytes.length > largestSecret)
    throw new Error(`the file ${path} is larger than 64 kB, so it is no secret`)
  let content: string
  try {
    content = new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '')
  } catch {
    throw new Error(`the file ${path} isn't UTF-8 text; encode the bytes of a secret, as in base64`)
  }
  if (content === '') throw new Error(`the file ${path} is empty`)
  const odd = /\p{Cc}/u.exec(form === 'line' ? content : content.replace(/[\t\r\n]/g, ' '))
  if (odd)
    throw new Error(
      `the file ${path} has ${/[\r\n]/.test(odd[0]) ? 'several lines' : 'a control character'}; it takes ${form === 'line' ? 'one line of text' : 'text'}`,
    )
  return content
}

class SilentPipe extends Error {}

/**
 * Reads the bytes of a file, or one more than a secret may have. A pipe, such as that of a shell's `<(command)`, is
 * opened without waiting for a writer: that might never come, and nothing would say what is being waited for.
 */
function bytesIn(path: string): Uint8Array {
  const bytes = Buffer.alloc(largestSecret + 1)
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const isPipe = fstatSync(file).isFIFO()
    const begun = performance.now()
    let length = 0
    while (length < bytes.length) {
      const read = readNow(file, bytes.subarray(length))
      if (read === 0 && !(isPipe && length === 0)) break
      length += read ?? 0
      if (read) continue
      // A pipe without a writer is at its end.
      const patience = patienceWithPipe[read === 0 ? 'unopened' : 'opened']
      if (performance.now() - begun > patience)
        throw new SilentPipe(`is a pipe into which nothing was written within ${patience / 1000} s`)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, lookAgainAfter)
    }
    return bytes.subarray(0, length)
  } finally {
    closeSync(file)
  }
}

/** @returns the number of bytes read, 0 at the end; undefined if there are none yet */
function readNow(file: number, into: Uint8Array): number | undefined {
  try {
    return readSync(file, into, 0, into.length, null)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined
    throw error
  }
}

/** Lists the environment variables that the file names for secrets. The operator chooses their names. */
export function secretVariables(given: unknown): readonly string[] {
  if (typeof given !== 'object' || given === null) return []
  return Object.entries(given).flatMap(([name, value]) =>
    name === 'env' && typeof value === 'string' ? [value] : secretVariables(value),
  )
}
