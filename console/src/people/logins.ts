import type { Schemas } from '@carrel/client'
import { service } from '../api.ts'
import { emailsOf } from './people.ts'

/** An eperson's identity at a provider. */
export type Identity = Schemas['LinkedIdentity']
export type TokenOf = Schemas['AccessTokenOf']

const admin = '/api/admin'
export const identities = `${admin}/sso/identities`

export async function loadTokens(
  page: number,
  size: number,
  signal: AbortSignal,
): Promise<{
  readonly tokens: readonly TokenOf[]
  readonly total: number
  readonly emails: ReadonlyMap<string, string>
}> {
  const { items, total } = await service.value.list<TokenOf>(`${admin}/tokens`).page(page - 1, size, signal)
  return {
    tokens: items,
    total,
    emails: await emailsOf(
      items.map(({ eperson }) => eperson),
      signal,
    ),
  }
}

export type Provider = Schemas['SignOnProviders']['providers'][number]

/** Lists the providers; none if single sign-on is off. */
export const loadProviders = async (signal: AbortSignal): Promise<readonly Provider[]> =>
  (await service.value.get<Schemas['SignOnProviders']>(`${admin}/sso/providers`, { signal })).providers

const linkOf = (provider: string, eperson: string) =>
  `${identities}/${encodeURIComponent(provider)}/${encodeURIComponent(eperson)}`

export const link = (
  eperson: string,
  provider: string,
  json: { readonly subject: string; readonly entityId?: string },
): Promise<unknown> => service.value.put(linkOf(provider, eperson), { json })

export const unlink = ({ provider, eperson }: Identity): Promise<unknown> =>
  service.value.delete(linkOf(provider, eperson))

/** Ends the sessions of all epersons, including the caller's. */
export const endAllSessions = (): Promise<unknown> => service.value.delete(`${admin}/sessions`)

/** @returns the number of secrets accepted from now on */
export const rotateSecret = async (): Promise<number> =>
  (await service.value.post<{ readonly accepted: number }>(`${admin}/secret/rotate`)).accepted
