import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { bearerOf } from '../clients/client.ts'
import { type Service, startService } from '../service/service.ts'
import { type Lie, startLyingProviders } from './lying-provider.ts'
import { type Browser, browserOf, type SignIn, signIn, trade, withSingleSignOn } from './openid-flow.ts'
import type { OpenIdSettings } from './openid-provider.ts'

/** The provider without a lie. */
export const truth = 'truth'
/** Lies by the names of the providers that tell them. */
export type Lies = Readonly<Record<string, Lie>>

/** Returns settings with these providers, all of which create accounts. @param more settings of each */
export const withProviders = (t: TestContext, all: readonly OpenIdSettings[], more: object = {}) =>
  withSingleSignOn(t, { providers: all.map(settings => ({ ...settings, create: true, ...more })) })

/** Starts providers that tell chosen lies, and starts services that trust them. */
export async function startLiars() {
  const providers = await startLyingProviders()

  /** Returns settings with a provider for each of the lies, and with one that tells the truth. */
  const withLies = (t: TestContext, lies: Lies) =>
    withProviders(
      t,
      Object.entries({ [truth]: {}, ...lies }).map(([name, lie]) => providers.settings(name, lie)),
    )

  const start = (t: TestContext, lies: Lies = {}): Promise<Service> =>
    startService(t, { env: withLies(t, lies) })

  return { providers, withLies, start }
}

/** Asserts that a login at a truthful provider succeeds. @returns the token */
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

/** Sends a logout token to the address for this provider. */
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
