import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { bearerOf } from '../clients/client.ts'
import { type Service, startService } from '../service/service.ts'
import { type Lie, startLyingProviders } from './lying-provider.ts'
import { type Browser, browserOf, type SignIn, signIn, trade, withSingleSignOn } from './openid-flow.ts'
import type { OpenIdSettings } from './openid-provider.ts'

/** The provider that tells the truth. */
export const truth = 'truth'
/** A lie for each provider, by its name. */
export type Lies = Readonly<Record<string, Lie>>

/** All of them create whom they vouch for. @param more settings of each */
export const withProviders = (t: TestContext, all: readonly OpenIdSettings[], more: object = {}) =>
  withSingleSignOn(t, { providers: all.map(settings => ({ ...settings, create: true, ...more })) })

/** Providers that lie as they are told to, and services that trust them. */
export async function startLiars() {
  const providers = await startLyingProviders()

  /** Settings with a provider for each of the lies, beside one that tells the truth. */
  const withLies = (t: TestContext, lies: Lies) =>
    withProviders(
      t,
      Object.entries({ [truth]: {}, ...lies }).map(([name, lie]) => providers.settings(name, lie)),
    )

  const start = (t: TestContext, lies: Lies = {}): Promise<Service> =>
    startService(t, { env: withLies(t, lies) })

  return { providers, withLies, start }
}

/** A login at a provider succeeds. @returns the token */
export async function assertTruthAccepted(
  service: Service,
  options: SignIn & { browser?: Browser } = {},
): Promise<string> {
  const { browser = browserOf(service) } = options
  const { answer } = await signIn(browser, { provider: truth, ...options })
  assert.equal(answer.status, 303, await answer.text())
  const traded = await trade(browser)
  assert.equal(traded.status, 200)
  return bearerOf(traded)
}

/** Sends a logout token to the address of this provider. */
export const sendLogout = (
  { address }: Pick<Service, 'address'>,
  name: string,
  token: string,
  headers: Readonly<Record<string, string>> = {},
) =>
  fetch(`${address}/api/authn/sso/oidc/logout/${name}`, {
    method: 'POST',
    body: new URLSearchParams({ logout_token: token }),
    headers,
  })
