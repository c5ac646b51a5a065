import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { databaseOf, runSqlIn } from '../service/engines.ts'
import type { Service } from '../service/service.ts'

/**
 * Claims of tokens, which are made and read here without the service's code, following `src/model/keys.ts`
 * and RFC 7515.
 */
export interface Claims {
  readonly eid: string
  readonly sg: readonly string[]
  readonly exp: number
}

/** The start of the sessions of the tokens that are made here, in ms since 1970. */
export const ownBegun = Date.now() - 1_000
const headerOf = (begun: number) => `{"alg":"HS256","typ":"JWT","kid":"${begun}"}`
export const ownHeader = headerOf(ownBegun)

export const base64url = (text: string | Uint8Array): string => Buffer.from(text).toString('base64url')

/** Returns the three parts of a token, decoded; the first two as text. */
export function partsOf(token: string): { header: string; payload: string; signature: Buffer } {
  const [header = '', payload = '', signature = ''] = token.split('.')
  return {
    header: Buffer.from(header, 'base64url').toString(),
    payload: Buffer.from(payload, 'base64url').toString(),
    signature: Buffer.from(signature, 'base64url'),
  }
}

export const claimsOf = (token: string): Claims => JSON.parse(partsOf(token).payload) as Claims

/** Returns the secrets of a data folder, or of the database that it stands for, newest first (T7). */
export async function secretsOf(dataFolder: string): Promise<Buffer[]> {
  if ((await databaseOf(dataFolder)) !== undefined) {
    const sql = 'SELECT secret FROM carrel.secret ORDER BY id DESC'
    return (await runSqlIn<{ secret: Buffer }>(dataFolder, sql)).map(({ secret }) => secret)
  }
  return readFileSync(join(dataFolder, 'secret'), 'utf8')
    .trim()
    .split('\n')
    .map(line => Buffer.from(line.split(' ')[0] ?? '', 'base64url'))
}

/** Returns the spellings of a secret, to search for it where it must not appear. */
export const spellingsOf = (secret: Buffer): string[] =>
  (['base64url', 'base64', 'hex'] as const).map(encoding => secret.toString(encoding).replace(/=+$/, ''))

/** Returns the HMAC-SHA256 of the purpose and the material under the secret. */
export const derivedKey = (
  secret: Uint8Array | string,
  purpose: string,
  material: Uint8Array = new Uint8Array(),
): Buffer => createHmac('sha256', secret).update(`carrel/1/${purpose}/`).update(material).digest()

/** Returns the key with which the service currently signs tokens of this eperson. */
export async function keyOf(
  service: Service,
  uuid: string,
  kind: 'login' | 'short-lived' = 'login',
  given?: Uint8Array,
): Promise<Buffer> {
  const session = await service.storage.sessions.of(uuid)
  const secret = given ?? (await secretsOf(service.dataFolder))[0]
  if (!session || !secret) throw new Error(`there is no session of ${uuid}`)
  return derivedKey(secret, `${kind}/password`, session.sessionKey)
}

/** Returns the start of a token's session in ms since 1970, which is the id of its key. */
export const begunOf = (token: string): number =>
  Number((JSON.parse(partsOf(token).header) as { kid: string }).kid)

/** Returns the key of a session, which depends on its start (docs/decisions/0024). */
export const sessionKey = (key: Uint8Array, begun: number): Buffer =>
  createHmac('sha256', key).update(String(begun)).digest()

/** Joins encoded parts to a token, signed with HS256 whatever its header says. */
export function signedParts(header: string, payload: string, key: Uint8Array): string {
  const input = `${header}.${payload}`
  return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`
}

export const signed = (header: string, payload: string, key: Uint8Array): string =>
  signedParts(base64url(header), base64url(payload), key)

/**
 * Makes a token with these very claims.
 * @param key the one from which those of sessions are derived (`keyOf`) @param begun in ms since 1970
 */
export const signedHere = (payload: string, key: Uint8Array, begun = ownBegun): string =>
  signed(headerOf(begun), payload, sessionKey(key, begun))
