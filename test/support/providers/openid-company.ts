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

/** A provider that knows nothing of any Carrel, and what a file of tests does with it. */
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

  /** Whom the user `ruth` is for the provider from now on. */
  function ruthIs(claims: Partial<AccountClaims> = {}, at = company): void {
    at.users.set('ruth', { ...ruth, ...claims })
  }

  /** A Carrel that creates whom `company` vouches for, unless told otherwise; and who `ruth` is, is as above again. */
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

/** Another provider, which the first one knows nothing of. */
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

/** A login from its start to its token, in a new browser unless told otherwise. */
export async function tokenOf(
  service: Service,
  options: SignIn & { browser?: Browser } = {},
): Promise<string> {
  const { browser = browserOf(service) } = options
  const { answer } = await signIn(browser, options)
  assert.equal(answer.status, 303, await answer.text())
  return bearerOf(await trade(browser))
}

/** Every eperson of the service. */
export const epersons = async ({ storage }: Service) => storage.people.listEpersons()
/** Their e-mail addresses, sorted. */
export const emails = async (service: Service) => (await epersons(service)).map(({ email }) => email).sort()

/** The provider's word was taken, and led to nobody. */
export async function assertNoAccount(service: Service, options: SignIn = {}): Promise<void> {
  const before = await epersons(service)
  const browser = browserOf(service)
  const { answer } = await signIn(browser, options)
  await assertProblem(answer, 403, 'account-refused')
  await assertNotSignedOn(browser, answer)
  assert.deepEqual(await epersons(service), before)
}

/** Nothing to be traded for a token came with the answer, and nothing is in the browser. */
export async function assertNotSignedOn(browser: Browser, answer: Response, at = baseUrl): Promise<void> {
  assert.equal(cookieOf(answer, tradeCookie), undefined)
  await assertProblem(await trade(browser, { at }), 401, 'login-failed')
}

/** The status that the browser is shown. */
export const statusIn = async (browser: Browser): Promise<Status & { authenticationMethod: string | null }> =>
  JSON.parse((await browser.open(`${baseUrl}/api/authn/status`)).text)

/** The browser's cookies for Carrel, to be sent by hand. */
export const cookiesIn = (browser: Browser) => browser.cookies.header(new URL(baseUrl)) ?? ''
