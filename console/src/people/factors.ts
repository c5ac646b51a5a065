import type { Factor, FactorName, Schemas } from '@carrel/client'
import { client, service } from '../api.ts'

export type Enrolled = Schemas['Factor']

/** The factors of an eperson, and what is asked of them. */
export type Factors = Omit<Schemas['FactorPage'], '_embedded' | 'page' | '_links'> & {
  readonly factors: readonly Enrolled[]
}

/** A proof that the caller is who they are: a factor, or the password of those who have none. */
export type Proof = Factor | { readonly password: string } | Readonly<Record<string, never>>

/** What a proof can be made of. */
export type ProofName = FactorName | 'password'

const own = '/api/authn/factors'
const addressOf = (uuid?: string) => (uuid === undefined ? own : `/api/eperson/epersons/${uuid}/factors`)

/** @param uuid another eperson, for administrators */
export async function loadFactors(uuid?: string, signal?: AbortSignal): Promise<Factors> {
  const { _embedded, ...about } = await service.value.get<Schemas['FactorPage']>(addressOf(uuid), {
    query: { size: 100 },
    ...(signal ? { signal } : {}),
  })
  return { ...about, factors: _embedded.factors }
}

/** Returns what the caller can prove themselves with; nothing if only a recent login does. */
export function proofsOf({ factors, recoveryCodes, hasPassword }: Factors): readonly ProofName[] {
  if (factors.length === 0) return hasPassword ? ['password'] : []
  const has = (kind: Enrolled['kind']) => factors.some(one => one.kind === kind)
  return [
    ...(has('passkey') ? (['webauthn'] as const) : []),
    ...(has('totp') ? (['totp'] as const) : []),
    ...(recoveryCodes > 0 ? (['recovery'] as const) : []),
  ]
}

/** A proof, or the ticket of a login that demands a factor. */
type Right = { readonly proof: Proof } | { readonly ticket: string }

/** An enrolment that has begun. */
export type Begun =
  | { readonly enrolment: string; readonly kind: 'totp'; readonly secret: string; readonly uri: string }
  | {
      readonly enrolment: string
      readonly kind: 'passkey'
      readonly publicKey: PublicKeyCredentialCreationOptionsJSON
    }

interface Wanted {
  readonly kind: Enrolled['kind']
  readonly name: string
  readonly alone?: boolean
}

export const begin = (wanted: Wanted, right: Right): Promise<Begun> =>
  client.post<Begun>(`${own}/enrolments`, { json: { ...wanted, ...right }, anonymous: 'ticket' in right })

/** A finished enrolment. The ticket of a login goes on with it. */
export type Finished = Pick<Schemas['NewFactor'], 'recoveryCodes' | 'ticket'>

/** An enrolment is finished while logging in, or in a session, which may end the others of its eperson. */
export type Finishing = { readonly anonymous: true } | { readonly endOtherSessions: boolean }

/** @param given the first code of an app, or a new passkey */
export const finish = (
  { enrolment }: Begun,
  given: { readonly totp: string } | { readonly webauthn: object },
  by: Finishing,
): Promise<Finished> =>
  'anonymous' in by
    ? client.post<Finished>(own, { json: { enrolment, ...given }, ...by })
    : client.post<Finished>(own, { json: { enrolment, ...given, ...by } })

/** Lets the browser make a passkey. @throws DOMException if the user declines */
export async function makePasskey(options: PublicKeyCredentialCreationOptionsJSON): Promise<object> {
  const made = await navigator.credentials.create({
    publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options),
  })
  return (made as PublicKeyCredential).toJSON()
}

export const rename = (id: string, name: string, proof: Proof): Promise<unknown> =>
  client.patch(`${own}/${id}`, { json: { name, proof } })

export const remove = (id: string, proof: Proof): Promise<unknown> =>
  client.post(`${own}/${id}/removal`, { json: { proof } })

export const renewCodes = async (proof: Proof): Promise<readonly string[]> =>
  (await client.post<{ recoveryCodes: readonly string[] }>(`${own}/recovery-codes`, { json: { proof } }))
    .recoveryCodes

export const reset = (uuid: string, proof: Proof): Promise<unknown> =>
  client.post(`${addressOf(uuid)}/reset`, { json: { proof } })
