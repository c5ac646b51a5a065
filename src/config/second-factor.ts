import { type LoginMethod, passwordMethod } from '../model/accounts.ts'
import type { SecondFactorSetting } from '../model/factors.ts'
import type { Values } from './values.ts'

export interface SecondFactorConfig {
  /** The epersons who need a second factor to log in (L12). `off` without logins that could need it. */
  readonly secondFactor: SecondFactorSetting
  /** `all`: a directory and single sign-on need it, too. */
  readonly secondFactorLogins: 'password' | 'all'
}

export function secondFactorOf({ required }: Values, methods: readonly LoginMethod[]): SecondFactorConfig {
  const secondFactorLogins = required('CARREL_SECOND_FACTOR_LOGINS')
  const isPossible = secondFactorLogins === 'all' || methods.includes(passwordMethod)
  return { secondFactorLogins, secondFactor: isPossible ? required('CARREL_SECOND_FACTOR') : 'off' }
}
