import type { Requests } from './routes.ts'

/** A kind of proof beside the password. */
export type FactorName = 'totp' | 'webauthn' | 'recovery'

/** A browser's answer for a passkey. */
export interface Passkey {
  readonly webauthn: object
}

/** An answer to the second step of a login, or to a proof: a code of an app, a recovery code, or a passkey. */
export type Factor = { readonly totp: string } | { readonly recovery: string } | Passkey

/** The second step of a login whose password was right. */
export interface SecondStep {
  /** What the eperson has enrolled; any one of them is enough. */
  readonly factors: readonly FactorName[]
  /** Asks the browser for a passkey. @throws DOMException if the user declines */
  passkey(): Promise<Passkey>
}

/** Returns the answer of the user, or undefined to give up. */
export type AskFactor = (step: SecondStep) => Factor | undefined | Promise<Factor | undefined>

/** What a passkey is asked for: a login without a password, the second step of a login, or a proof. */
export type PasskeyPurpose =
  | Readonly<Record<string, never>>
  | { readonly ticket: string }
  | { readonly purpose: 'proof' }

export interface PasskeyOptions {
  readonly signal?: AbortSignal | undefined
  /** `conditional` offers passkeys in the field of the name (`autocomplete="username webauthn"`). */
  readonly mediation?: 'optional' | 'conditional'
}

/** Fetches a challenge, and lets the browser answer it with a passkey. */
export async function askPasskey(
  client: Requests,
  json: PasskeyPurpose,
  { signal, mediation = 'optional' }: PasskeyOptions = {},
): Promise<Passkey> {
  const anonymous = !('purpose' in json)
  const response = await client.request('POST', '/api/authn/challenges', { json, signal, anonymous })
  const { publicKey } = (await response.json()) as { publicKey: PublicKeyCredentialRequestOptionsJSON }
  const found = await navigator.credentials.get({
    publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(publicKey),
    mediation,
    ...(signal ? { signal } : {}),
  })
  return { webauthn: (found as PublicKeyCredential).toJSON() }
}

/** Returns the fields of a login form for an answer. */
export const fieldsOf = (factor: Factor | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(factor ?? {}).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
