import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import type { Addresses } from '../http/addresses.ts'
import { halPage, readPage } from '../http/hal.ts'
import type { Query } from '../http/parameters.ts'
import type { Eperson } from '../model/accounts.ts'
import type { Factor } from '../model/factors.ts'
import type { Accounts } from '../model/people.ts'
import type { Sessions } from '../storage/statements/sessions.ts'
import type { Clock } from '../storage/storage.ts'
import type { Factors, FactorsOf } from './factor-statements.ts'
import type { LoginsUnderWay } from './logins-under-way.ts'
import type { Passkeys } from './passkeys.ts'
import type { SealedSecrets } from './sealed-secrets.ts'
import type { SecondFactor } from './second-factor.ts'
import type { Tickets } from './tickets.ts'

/** The parts of the routes of factors. */
export interface FactorParts {
  readonly addresses: Addresses
  readonly clock: Clock
  readonly config: Pick<Config, 'look' | 'secondFactor'>
  readonly factors: Factors
  readonly logins: LoginsUnderWay
  readonly passkeys: Passkeys
  readonly people: Pick<Accounts, 'credentials' | 'eperson'>
  readonly sealed: SealedSecrets
  readonly secondFactor: SecondFactor
  readonly sessions: Pick<Sessions, 'of'>
  readonly tickets: Tickets
  /** Tells an eperson by mail, if mail is configured, that a second factor of theirs has changed. */
  readonly tellOwner: (eperson: string, change: 'added' | 'removed' | 'reset') => void
}

export const factorBody = ({ id, kind, name, alone, created, used }: Factor, self: string) => ({
  id,
  kind,
  name,
  alone,
  created: new Date(created).toISOString(),
  lastUsed: used === null ? null : new Date(used).toISOString(),
  type: 'factor',
  _links: { self: { href: self } },
})

/** A page of an eperson’s factors, with what else a client needs to know of them. */
export async function pageOf(
  { config, passkeys, people }: FactorParts,
  { factors, recoveryCodes }: FactorsOf,
  { uuid, email }: Eperson,
  required: boolean,
  request: FastifyRequest,
  self: string,
) {
  const stored = await people.credentials(email)
  return {
    ...halPage(
      'factors',
      factors.map(one => factorBody(one, `${self}/${one.id}`)),
      readPage(request.query as Query),
      self,
    ),
    setting: config.secondFactor,
    required,
    recoveryCodes,
    hasPassword: stored?.uuid === uuid && stored.passwordHash !== null,
    passkeys: passkeys.arePossible,
  }
}
