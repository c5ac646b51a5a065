import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { Client } from '../support/clients/client.ts'
import { shownOn, startUserInterface, tokenOn } from '../support/clients/user-interface.ts'
import { carrel } from '../support/service/process.ts'
import { type Service, startService } from '../support/service/service.ts'

/** Carrel as a guide sets it up, and a page from which people log in. */
export interface World {
  readonly service: Service
  /** The public address, with its path. */
  readonly address: string
  /** The address of the page. */
  readonly ui: string
  /** Returns the findings of `carrel sso check`, as `level about: what`. */
  complaints(): Promise<string[]>
}

interface Setting {
  /** The folder of the configuration, with secrets and metadata. */
  readonly folder: string
  /** The guide's `carrel.json`. */
  readonly config: string
  /** The public address. */
  readonly address: string
  readonly env?: Readonly<Record<string, string>>
}

export async function startWorld(t: TestContext, { folder, config, address, env }: Setting): Promise<World> {
  const { origin } = await startUserInterface(t, address)
  const file = join(folder, 'carrel.json')
  writeFileSync(file, config)
  const settings = {
    CARREL_CONFIG: file,
    CARREL_BASE_URL: address,
    CARREL_ALLOWED_ORIGINS: origin,
    ...env,
  }
  const service = await startService(t, { env: settings })
  return {
    service,
    address,
    ui: `${origin}/`,
    complaints: async () => {
      const { stdout } = await carrel(service.dataFolder, ['sso', 'check', '--json'], { env: settings })
      const found = JSON.parse(stdout) as { level: string; about: string; what: string }[]
      return found.filter(one => one.level !== 'ok').map(one => `${one.level} ${one.about}: ${one.what}`)
    },
  }
}

interface Login {
  readonly scheme: string
  /** Fills in the provider's form; not called if the browser returns at once. */
  readonly atProvider?: (page: Page) => Promise<void>
  readonly expected: { readonly email: string; readonly groups: readonly string[] }
}

/** Logs in from the page, in a browser that may know the provider already. @returns the token */
export async function logIn(page: Page, { ui, service }: World, login: Login): Promise<string> {
  await page.goto(ui)
  await page.getByRole('button', { name: `Log in with ${login.scheme}`, exact: true }).click()
  await login.atProvider?.(page)
  await page.waitForURL(ui)
  await page.locator('body[data-state]:not([data-state=asking])').waitFor()
  assert.deepEqual(await shownOn(page), { state: 'logged in', method: login.scheme, ...login.expected })
  const token = (await tokenOn(page)) ?? ''
  assert.equal(await new Client(service.address).isLoggedIn(token), true)
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  assert.deepEqual(Object.keys(claims).toSorted(), ['eid', 'exp', 'sg'])
  assert.equal(claims.sg.length, login.expected.groups.length)
  return token
}

export const isLive = ({ service }: World, token: string): Promise<boolean> =>
  new Client(service.address).isLoggedIn(token)

/** Logs out on the page, and goes on to the provider. */
export async function logOutThere(page: Page, { ui }: World): Promise<void> {
  await page.goto(ui)
  await page.getByRole('button', { name: 'Log out', exact: true }).click()
  await page.getByRole('link', { name: 'Log out there too' }).click()
}

/** Tries to log in. @returns the status of Carrel's answer to the provider's message */
export async function tryLogIn(page: Page, { ui, address }: World, login: Login): Promise<number> {
  await page.goto(ui)
  const answered = page.waitForResponse(
    response =>
      response.request().isNavigationRequest() &&
      response.url().startsWith(`${address}/api/authn/`) &&
      response.status() >= 400,
  )
  await page.getByRole('button', { name: `Log in with ${login.scheme}`, exact: true }).click()
  await login.atProvider?.(page)
  return (await answered).status()
}

/**
 * Begins another login, with the cookies of the browser and with forged headers that claim to be Ruth and to
 * come from the proxy.
 *
 * @returns the target of the redirect; a page loaded next gets the session, if there is one
 */
export async function pretend(page: Page, world: World, scheme: string, secret: string): Promise<string> {
  const said = {
    'X-Proxy-Secret': secret,
    'X-Sso-Subject': 'r-1',
    'X-Sso-Mail': 'ruth@example.edu',
    'X-Sso-Mail-Verified': '1',
    'X-Sso-Groups': 'staff',
    'X-Sso-Affiliation': 'staff@example.edu',
    OIDC_CLAIM_groups: 'staff',
    affiliation: 'staff@example.edu',
  }
  const start = `${world.address}/api/authn/${scheme}?redirectUrl=${world.ui}`
  const answer = await page.context().request.get(start, { headers: said, maxRedirects: 0 })
  return answer.headers().location ?? `${answer.status()} ${await answer.text()}`
}

/** @returns the content of the page in a browser without a token */
export async function arriveAnew(page: Page, { ui }: World) {
  await page.evaluate('localStorage.clear()')
  await page.goto(ui)
  return shownOn(page)
}
