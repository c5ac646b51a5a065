import { OperatorError } from '../lib/errors.ts'
import type { Credentials } from '../model/people.ts'
import type { People } from '../people/statements.ts'

/** The command failed. The message says why, and what would help. Exit code 1. */
export class Failure extends OperatorError {}

/** Wrong usage of a command. Exit code 2. */
export class Misuse extends OperatorError {}

export const noEperson = (email: string): Failure =>
  new Failure(`there is no eperson ${email}; \`carrel eperson list\` shows all`)

export const isDisabled = (email: string): Failure =>
  new Failure(`${email} is disabled; \`carrel eperson enable ${email}\` lets them log in again`)

/** @throws Failure if there is no such eperson */
export async function findEperson(people: Pick<People, 'credentials'>, email: string): Promise<Credentials> {
  const known = await people.credentials(email)
  if (!known) throw noEperson(email)
  return known
}
