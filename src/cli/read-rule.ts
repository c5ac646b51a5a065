import type { ReadRule } from '../model/entities.ts'
import type { Accounts } from '../storage/accounts.ts'
import { Failure, Misuse } from './failures.ts'

/** The option `--read` of the commands that make entities (Q11). */
export const readOption = [
  '--read <who>',
  'who may read it: anonymous, eperson, admin or group:<name>',
  'admin',
] as const

/** @throws Misuse when it is none; Failure when it names a group that isn't there */
export async function readRule(text: string, accounts: Pick<Accounts, 'listGroups'>): Promise<ReadRule> {
  if (text === 'anonymous' || text === 'eperson' || text === 'admin') return text
  if (/\s(from|until):/.test(text))
    throw new Misuse('--read takes who may read; days go into --from and --until')
  const group = /^group:(.+)/.exec(text)?.[1]?.trim()
  if (group === undefined)
    throw new Misuse(`--read takes anonymous, eperson, admin or group:<name>, not ${JSON.stringify(text)}`)
  const known = await accounts.listGroups()
  if (!known.some(one => one.name === group))
    throw new Failure(`there is no group ${group}; add it with «carrel group add ${group}»`)
  return `group:${group}`
}
