import assert from 'node:assert/strict'
import { TOTP } from 'otpauth'
import { Authenticator, type PublicKey } from '../clients/authenticator.ts'
import type { Client } from '../clients/client.ts'
import { passwordOf } from '../service/service.ts'

/** An address that can have passkeys. */
export const origin = 'https://repo.example.edu'
export const factorsPath = '/api/authn/factors'
const loginPath = '/api/authn/login'

export const sendJson = (client: Client, path: string, body: object, method: 'post' | 'patch' = 'post') =>
  client[method](path, JSON.stringify(body), { 'content-type': 'application/json' })

/** Sends JSON. @returns the answer, which must have this status */
export async function asked<T>(client: Client, path: string, body: object, status = 200): Promise<T> {
  const answer = await sendJson(client, path, body)
  const text = await answer.text()
  assert.equal(answer.status, status, text)
  return JSON.parse(text) as T
}

/** Sends the form of a login, without the token that the client has. */
export function tryLogin(client: Client, fields: Readonly<Record<string, string>>): Promise<Response> {
  client.token = undefined
  return client.post(loginPath, new URLSearchParams(fields))
}

export const passwordForm = (email: string) => ({ user: email, password: passwordOf(email) })

export interface Added {
  readonly id: string
  readonly name: string
  readonly recoveryCodes?: readonly string[]
  readonly ticket?: string
}

/** An app with the secret of TOTP. */
export interface App {
  /** @param steps from now */
  code(steps?: number): string
}

/**
 * Enrols TOTP with a proof, or the ticket of a login. Its first code is that of the step before.
 * @param typed how that code is typed
 */
export async function enrolTotp(
  client: Client,
  given: object,
  typed = (code: string) => code,
): Promise<Added & App> {
  const begun = await asked<{ enrolment: string; uri: string; secret: string }>(
    client,
    `${factorsPath}/enrolments`,
    { kind: 'totp', name: 'My phone', ...given },
    201,
  )
  const app = new TOTP({ secret: begun.secret })
  const code = (steps = 0) => app.generate({ timestamp: Date.now() + steps * 30_000 })
  const { enrolment } = begun
  // A step may end before the code of the one before it arrives.
  const first = await sendJson(client, factorsPath, { enrolment, totp: typed(code(-1)) })
  const added =
    first.status === 201
      ? ((await first.json()) as Added)
      : await asked<Added>(client, factorsPath, { enrolment, totp: typed(code(-1)) }, 201)
  return { ...added, code }
}

/** @param at the origin of the service, which must be able to have passkeys */
export async function enrolPasskey(
  client: Client,
  given: object,
  at = origin,
): Promise<Added & { readonly device: Authenticator }> {
  const { enrolment, publicKey } = await asked<{ enrolment: string; publicKey: PublicKey }>(
    client,
    `${factorsPath}/enrolments`,
    { kind: 'passkey', name: 'My key', ...given },
    201,
  )
  const device = new Authenticator(at)
  const added = await asked<Added>(
    client,
    factorsPath,
    { enrolment, webauthn: device.create(publicKey) },
    201,
  )
  return { ...added, device }
}

/** Asks for a challenge. */
export const challenge = async (client: Client, wanted: object = {}): Promise<PublicKey> =>
  (await asked<{ publicKey: PublicKey }>(client, '/api/authn/challenges', wanted)).publicKey
