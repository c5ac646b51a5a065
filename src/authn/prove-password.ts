import type { FastifyRequest } from 'fastify'
import { clientOf } from '../http/connection.ts'
import { clientAddress } from '../lib/addresses.ts'
import { passwordMethod } from '../model/accounts.ts'
import type { Passwords } from './passwords.ts'
import type { Guess, Throttle, Turn } from './throttle.ts'

/** Makes the guess of a request that sends a password. @param eperson null if there is no such account */
export const guessOf = (
  request: FastifyRequest,
  user: string,
  eperson: string | null,
): Omit<Guess, 'method'> => ({
  user,
  eperson,
  address: clientAddress(request.ip),
  client: clientOf(request),
})

interface Outcomes<T> {
  right(turn: Turn): Promise<T>
  /** @param reason for the audit trail if the next attempt has to wait; else null */
  wrong(reason: string | null): Promise<T>
}

/**
 * Verifies a password that the store knows, in its turn at the throttle (L8), which ends after the outcome.
 * @param hash the hash to compare with; null if there is none, and the password is then wrong
 */
export async function provePassword<T>(
  { passwords, throttle }: { readonly passwords: Passwords; readonly throttle: Throttle },
  guess: Omit<Guess, 'method'>,
  password: Uint8Array,
  hash: string | null,
  { right, wrong }: Outcomes<T>,
): Promise<T> {
  await using turn = await throttle.turn({ ...guess, method: passwordMethod }, passwords.queue)
  if (!(await passwords.verify(password, hash, turn))) return await wrong(await turn.wrong())
  await turn.takeBack()
  return await right(turn)
}
