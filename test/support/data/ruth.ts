import { argon2Sync, randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { startService } from '../service/service.ts'

/** The eperson of most tests about authentication. */
export const ruthEmail = 'ruth@example.org'

type Settings = Readonly<Record<string, string>>

/** Starts a service with one eperson, and a client that is not logged in. */
export async function startWithRuth(t: TestContext, env: Settings = {}, realPasswords = false) {
  const service = await startService(t, { env, realPasswords })
  const { uuid } = await service.addEperson(ruthEmail)
  return { service, uuid, client: service.client() }
}

/** Starts a service with one eperson, a client that is logged in, and one that is not. */
export async function startWithRuthLoggedIn(t: TestContext, env: Settings = {}, realPasswords = false) {
  const { service, uuid, client } = await startWithRuth(t, env, realPasswords)
  const token = await client.login(ruthEmail)
  return { service, uuid, client, token, stranger: service.client() }
}

/**
 * Returns a hash in PHC format with weaker parameters than the service's, as an older version may have made
 * it.
 */
export function weakHashOf(password: string): string {
  const [memory, passes, parallelism] = [8_192, 1, 1]
  const [message, nonce] = [Buffer.from(password), randomBytes(16)]
  const tag = argon2Sync('argon2id', { message, nonce, memory, passes, parallelism, tagLength: 32 })
  const base64 = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(nonce)}$${base64(tag)}`
}
