import assert from 'node:assert/strict'
import { bearerOf } from '../clients/client.ts'
import type { Service } from '../service/service.ts'
import { signIn } from './saml-flow.ts'
import type { SamlProvider } from './saml-provider.ts'

/** The email address of Ada, as whom most tests log in. */
export const email = 'ada@example.org'

/** Logs in completely. @returns the visitor and the token */
export async function logIn(service: Service, provider: SamlProvider, user: string, options = {}) {
  const { visitor, answer } = await signIn(service, provider, user, options)
  assert.equal(answer.status, 303, await answer.text())
  return { visitor, token: bearerOf(await visitor.trade()) }
}

/** Returns a client that uses this token. */
export function clientWith(service: Service, token: string) {
  const client = service.client()
  client.token = token
  return client
}

/** Returns a client that is logged in as an administrator. */
export async function administratorOf(service: Service) {
  await service.addEperson('root@example.org', { admin: true })
  const client = service.client()
  await client.login('root@example.org')
  return client
}
