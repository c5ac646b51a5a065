import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { AccountClaims } from 'oidc-provider'
import { assertProblem } from '../clients/answers.ts'
import { bearerOf, type Status } from '../clients/client.ts'
import { cookieOf, tradeCookie } from '../clients/cookie-jar.ts'
import { baseUrl, type Service, startService } from '../service/service.ts'
import { type Browser, browserOf, type SignIn, signIn, trade, withSingleSignOn } from './openid-flow.ts'
import { type OpenIdSettings, startOpenIdProvider } from './openid-provider.ts'

/** Another public address of the service. */
export const secureUrl = 'https://repo.example.edu/server'

/** Clients for tests that need many. */
export const caseIds = Array.from({ length: 20 }, (_, at) => `case-${at}`)

/** Starts a provider, independent of any service, and returns helpers for the tests of a file. */
export async function startCompany() {
  const company = await startOpenIdProvider({
    clients: {
      company: 'basic',
      posted: 'post',
      open: 'none',
      ...Object.fromEntries(caseIds.map(id => [id, 'basic' as const])),
    },
    publicAddresses: [baseUrl, secureUrl],
  })

  /** Sets the claims of the user `ruth` at the provider. */
  function ruthIs(claims: Partial<AccountClaims> = {}, at = company): void {
    at.users.set('ruth', { ...ruth, ...claims })
  }

  /**
   * Starts a service that by default creates accounts for the users of `company`. Resets the claims of
   * `ruth`.
   */
  async function start(t: TestContext, options: Options = {}): Promise<Service> {
    const { provider = {}, providers = [{ ...company.settings('company'), create: true, ...provider }] } =
      options
    ruthIs()
    const env = withSingleSignOn(t, { providers, ...options.singleSignOn }, options.file)
    const service = await startService(t, {
      env: { ...env, ...options.env },
      ...(options.dataFolder === undefined ? {} : { dataFolder: options.dataFolder }),
    })
    company.reach(baseUrl, service.address)
    return service
  }

  return { company, ruthIs, start }
}

/** Starts another provider, independent of the first. */
export const startSecond = () => startOpenIdProvider({ clients: { second: 'basic' }, claimsIn: 'user info' })

/** Claims of the user `ruth`. */
export const ruth = {
  sub: 'r-1',
  email: 'ruth@example.edu',
  email_verified: true,
  given_name: 'Ruth',
  family_name: 'Reader',
}

type Provider = OpenIdSettings & Readonly<Record<string, unknown>>

interface Options {
  readonly providers?: readonly Provider[]
  readonly provider?: Readonly<Record<string, unknown>>
  readonly singleSignOn?: object
  readonly file?: object
  readonly env?: Readonly<Record<string, string>>
  readonly dataFolder?: string
}

/** Logs in completely, by default in a new browser. @returns the token */
export async function tokenOf(
  service: Service,
  options: SignIn & { browser?: Browser } = {},
): Promise<string> {
  const { browser = browserOf(service) } = options
  const { answer } = await signIn(browser, options)
  assert.equal(answer.status, 303, await answer.text())
  return bearerOf(await trade(browser))
}

/** Lists all epersons of the service. */
export const epersons = async ({ storage }: Service) => storage.people.listEpersons()
/** Returns their email addresses, sorted. */
export const emails = async (service: Service) => (await epersons(service)).map(({ email }) => email).sort()

/** Asserts that a login at the provider succeeds but leads to no account. */
export async function assertNoAccount(service: Service, options: SignIn = {}): Promise<void> {
  const before = await epersons(service)
  const browser = browserOf(service)
  const { answer } = await signIn(browser, options)
  await assertProblem(answer, 403, 'account-refused')
  await assertNotSignedOn(browser, answer)
  assert.deepEqual(await epersons(service), before)
}

/** Asserts that the answer brought no cookie to exchange for a token, and that the browser has none. */
export async function assertNotSignedOn(browser: Browser, answer: Response, at = baseUrl): Promise<void> {
  assert.equal(cookieOf(answer, tradeCookie), undefined)
  await assertProblem(await trade(browser, { at }), 401, 'login-failed')
}

/** Returns the status that the browser receives. */
export const statusIn = async (browser: Browser): Promise<Status & { authenticationMethod: string | null }> =>
  JSON.parse((await browser.open(`${baseUrl}/api/authn/status`)).text)

/** Returns the browser's cookies for Carrel, to be sent by hand. */
export const cookiesIn = (browser: Browser) => browser.cookies.header(new URL(baseUrl)) ?? ''
