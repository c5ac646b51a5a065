import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { createProcesses } from '../../src/admin/processes/processes.ts'
import type { Run } from '../../src/model/processes.ts'
import { assertCount } from '../support/clients/browser.ts'
import {
  assertAccessible,
  button,
  dialog,
  openArchive,
  openDesk,
  said,
  settled,
  takePicture,
} from '../support/clients/console.ts'
import { reader } from '../support/data/archive.ts'
import { names, ruth, secret, withProxy } from '../support/providers/proxy-flow.ts'
import { isLong } from '../support/scale.ts'
import { testOn } from '../support/service/engines.ts'
import { temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

testOn(
  'sqlite',
  'CO8 scripts are started and followed to their end; backups are made, listed and checked',
  async t => {
    const backups = join(temporaryFolder(t, 'sqlite'), 'backups')
    const { desk, page } = await openArchive(t, { env: { CARREL_BACKUPS: backups } })
    await desk.open('admin/processes')
    await page.getByRole('heading', { name: 'No processes' }).waitFor()
    await button(page, 'Start a process').click()
    await dialog(page).getByLabel('Kind').selectOption('verify')
    await dialog(page).getByRole('button', { name: 'Start' }).click()
    await page.getByRole('heading', { level: 1, name: 'Check of files' }).waitFor()
    await page.getByRole('main').getByText('completed').waitFor()
    await page.getByRole('log').getByText('6 files read').waitFor()

    await desk.open('admin/system/backups')
    await button(page, 'Back up now').click()
    await dialog(page).getByLabel('Backups to keep').fill('3')
    await dialog(page).getByRole('button', { name: 'Start' }).click()
    await page.getByRole('main').getByText('completed').waitFor()
    await page
      .getByRole('log')
      .getByText(/^Backup .* is complete/)
      .waitFor()
    await desk.open('admin/system/backups')
    await page.getByRole('row', { name: /whole/ }).waitFor()
    await assertAccessible(page, 'backups')
    await takePicture(page, 'backups-listed-1440-light')
    await button(page, 'Check all').click()
    await dialog(page).getByRole('button', { name: 'Start' }).click()
    await page.getByRole('log').getByText('1 backups read, 0 damaged').waitFor()

    await desk.open('admin/processes?status=COMPLETED')
    await assertCount(page.getByRole('row'), 4)
    await page.getByRole('link', { name: '1', exact: true }).click()
    await button(page, 'Remove').click()
    await dialog(page).getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('heading', { level: 1, name: 'Processes' }).waitFor()
    await settled(page)
    await assertCount(page.getByRole('row'), 3)
    desk.assertQuiet()
  },
)

testOn('sqlite', 'CO8 a process that runs is cancelled, and one that was interrupted is resumed', async t => {
  const { service, desk, page } = await openArchive(t)
  const asked = { kind: 'verify', eperson: null, parameters: {} } as const
  const endless = ({ signal }: Run) =>
    new Promise<null>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const runner = createProcesses(service.storage)
  const one = await runner.start(asked, endless)
  await desk.open(`admin/processes/${one.id}`)
  await page.getByRole('main').getByText('runs').first().waitFor()
  // By keyboard alone.
  await button(page, 'Cancel it').focus()
  await page.keyboard.press('Enter')
  await said(page, 'It stops as soon as it can.')
  await page.getByRole('main').getByText('cancelled', { exact: true }).first().waitFor()
  await button(page, 'Cancel it').waitFor({ state: 'detached' })
  assert.equal((await service.storage.processes.one(one.id))?.state, 'cancelled')
  await settled(page)
  await assertAccessible(page, 'a cancelled process')
  await desk.open('admin/processes')
  await page.getByRole('row', { name: /Check of files.*cancelled/ }).waitFor()

  const other = await runner.start(asked, endless)
  await desk.open(`admin/processes/${other.id}`)
  await page.getByRole('main').getByText('runs').first().waitFor()
  await runner.close()
  await page.getByRole('main').getByText('interrupted', { exact: true }).first().waitFor()
  await button(page, 'Resume').click()
  await page.getByRole('heading', { level: 1, name: `Check of files ${other.id + 1}` }).waitFor()
  await page.getByRole('main').getByText('completed', { exact: true }).first().waitFor()
  await page.getByText('Resumes process').waitFor()
  desk.assertQuiet()
})

testOn('sqlite', 'CO8 the audit trail is filtered by its address, exported and verified', async t => {
  const { service, desk, page } = await openArchive(t)
  await service.client().tryLogin(reader, 'a wrong password')
  await desk.open('admin/audit')
  await page.getByLabel('Event').selectOption('login')
  await page.getByLabel('Outcome').selectOption('failure')
  await page.getByRole('searchbox').fill('ruth')
  await page.waitForURL(/person=ruth/)
  await page.getByText('1–1 of 1').waitFor()
  const { searchParams } = new URL(page.url())
  assert.deepEqual(Object.fromEntries(searchParams), { event: 'login', outcome: 'failure', person: 'ruth' })
  await page.reload()
  await page.getByText('1–1 of 1').waitFor()

  await button(page, 'Download').click()
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'NDJSON' }).click(),
  ])
  const lines = readFileSync(await file.path(), 'utf8')
    .trim()
    .split('\n')
  assert.equal(lines.length, 1)
  assert.equal((JSON.parse(lines[0] ?? '') as { outcome: string }).outcome, 'failure')

  await page.getByRole('searchbox').fill('nobody like this')
  await page.getByRole('heading', { name: 'No events' }).waitFor()
  await button(page, 'Show everything').click()
  await page.getByLabel('Until').fill('2001-01-01')
  await page.getByRole('heading', { name: 'No events' }).waitFor()
  await button(page, 'Show everything').click()
  await page
    .getByRole('row', { name: /Add a person to a group/ })
    .first()
    .waitFor()

  await button(page, 'Verify').click()
  await dialog(page).getByRole('button', { name: 'Start' }).click()
  await page.getByRole('log').getByText('all as it was written').waitFor()
  await assertAccessible(page, 'a verified trail')
  desk.assertQuiet()
})

/** Interval in ms at which the page updates its figures. */
const timeBetweenLooks = 3_000

testOn('sqlite', 'CO8 figures are drawn as they come, and are there as tables', async t => {
  const { desk, page } = await openArchive(t)
  await page.clock.install()
  await desk.open('admin/system/figures')
  const plot = page.locator('.plot').filter({ hasText: 'Requests' }).first()
  // The second request for figures itself raises the counter after the first one.
  await until('a line of requests', async () => {
    await page.clock.fastForward(timeBetweenLooks)
    return plot.locator('path.series-1[d*="L"]').isVisible()
  })
  await plot.getByRole('row', { name: /2xx [1-9\d.,]+|2xx 0[.,]\d/ }).waitFor()
  await takePicture(page, 'figures-drawn-1440-light')
  await assertAccessible(page, 'figures')
  await button(page, 'Pause').click()
  await button(page, 'Go on').click()
  desk.assertQuiet()
})

testOn(
  'sqlite',
  'CO8 single sign-on is checked, and pasted attributes say whom they would log in',
  async t => {
    const { CARREL_CONFIG = '', PROXY_SECRET = '' } = withProxy(t) as Record<string, string>
    const { desk, page } = await openArchive(t, { env: { CARREL_CONFIG, PROXY_SECRET } })
    await desk.open('admin/system/sign-on')
    const pasted = page.getByLabel('Assertion or attributes')
    await pasted.fill(JSON.stringify(ruth))
    await button(page, 'Explain').click()
    await page.getByText('A new account is made, and logs in').waitFor()
    await page.getByText('ruth@example.edu').waitFor()
    await takePicture(page, 'explained-1440-light')
    await assertAccessible(page, 'explained')
    await pasted.fill(JSON.stringify({ [names.email]: 'ruth@example.edu' }))
    await button(page, 'Explain').click()
    await page.getByText('The login is refused').waitFor()
    desk.expectRefusals()
    await pasted.fill('<saml>')
    await button(page, 'Explain').click()
    await page.locator('form').getByRole('alert').waitFor()
    // Pasted text is not kept.
    await page.reload()
    await pasted.waitFor()
    assert.equal(await pasted.inputValue(), '')
    const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage }))
    assert.ok(!kept.includes('saml'))
    desk.assertQuiet()
  },
)

testOn(
  'sqlite',
  'CO6 CO8 a login at a provider comes back to its page; its link, tokens and all sessions end',
  async t => {
    const env = (front: { readonly loginPage: string }) =>
      withProxy(t, {
        provider: { loginUrl: `${front.loginPage}?target={target}` },
        env: { CARREL_TRUSTED_PROXIES: '127.0.0.1' },
      })
    const { service, desk, page } = await openArchive(t, { env, proxy: { users: { ruth }, secret } })
    const someone = await openDesk(t, service.front)
    await someone.open('entities/letters?sort=year')
    await someone.page.getByRole('link', { name: 'Log in' }).first().click()
    await logInAtProxy(someone.page)
    await someone.page.getByRole('columnheader', { name: 'shelfmark' }).waitFor()
    assert.match(someone.page.url(), /entities\/letters\?sort=year$/, 'no token, and nothing else')
    const client = service.client()
    await client.login(reader)
    const token = { name: 'nightly', entities: ['letters'] }
    await client.post('/api/authn/tokens', JSON.stringify(token), { 'content-type': 'application/json' })

    await desk.open('admin/system/logins')
    await page.getByRole('row', { name: /nightly ruth@example.org GET never/ }).waitFor()
    await page.getByRole('row', { name: /ruth@example.edu apache/ }).waitFor()
    await assertAccessible(page, 'logins')
    await takePicture(page, 'logins-1440-light')
    await button(page, 'Revoke nightly').click()
    await dialog(page).getByRole('button', { name: 'Revoke' }).click()
    await said(page, 'The token is revoked.')
    await page.getByRole('row', { name: /nightly/ }).waitFor({ state: 'detached' })
    // Their open table asks for changes with a session that has ended.
    someone.expectRefusals()
    await button(page, 'Remove ruth@example.edu').click()
    await dialog(page).getByRole('button', { name: 'Remove' }).click()
    await said(page, 'The link is removed.')
    await page.getByRole('row', { name: /ruth@example.edu/ }).waitFor({ state: 'detached' })

    // From now on, the account at the provider belongs to another person.
    await desk.open(`admin/people?q=${reader}`)
    await page.getByRole('main').getByRole('link').first().click()
    await button(page, 'Link with an account').click()
    await dialog(page)
      .getByLabel('Identifier at the provider')
      .fill(ruth[names.subject] ?? '')
    await takePicture(page, 'person-link-1440-light')
    await assertAccessible(page, 'the form of a link')
    await dialog(page).getByRole('button', { name: 'Link with an account' }).click()
    await said(page, /is linked with Apache/)
    await page.getByRole('row', { name: /^apache https:\/\/idp/ }).waitFor()
    await takePicture(page, 'person-linked-1440-light')
    const again = await openDesk(t, service.front)
    await again.open('login')
    await logInAtProxy(again.page)
    await again.page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await again.open('account')
    assert.equal((await again.page.getByText(reader).count()) > 0, true, 'someone else is logged in')
    again.assertQuiet()
    await desk.open('admin/audit?event=eperson.link')
    await page.getByRole('main').getByRole('link').first().click()
    await page.getByText('https://idp.example.edu!https://repo.example.edu!r-1').first().waitFor()
    await desk.open('admin/system/logins')

    await button(page, 'Rotate the secret').click()
    await dialog(page).getByRole('button', { name: 'Rotate the secret' }).click()
    await said(page, /A new secret signs from now on/)
    assert.equal(await client.isLoggedIn(), true, 'nobody is logged out')
    await button(page, 'End all sessions').click()
    desk.expectRefusals()
    await dialog(page).getByRole('button', { name: 'End all sessions' }).click()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    assert.equal(await client.isLoggedIn(), false)
    desk.assertQuiet()
    someone.assertQuiet()
  },
)

testOn(
  'sqlite',
  'CO8 an alert stands over every page of everybody, until it is hidden; in German, too',
  async t => {
    const { service, desk, page } = await openArchive(t)
    await desk.open('admin/system/alert')
    await page.getByLabel('Message').fill('Away <b>on Sunday</b>')
    await page.getByLabel('Time that it is about (UTC)').fill('2031-02-03T18:30')
    // Nothing is shown to everyone until this is checked.
    await page.getByLabel('Show it').check()
    await button(page, 'Save').click()
    await page.locator('.alert').getByText('Away <b>on Sunday</b>').waitFor()
    const anybody = await openDesk(t, service.front)
    await anybody.open('items')
    await anybody.page.locator('.alert').getByText('Away <b>on Sunday</b>').waitFor()
    // Times are in one zone, wherever the browser is.
    await anybody.page.locator('.alert').getByText('3 Feb 2031, 18:30 UTC').waitFor()
    await assertAccessible(anybody.page, 'an alert')
    await page.getByLabel('Sessions while it is shown').selectOption('Only administrators are logged in')
    await button(page, 'Save').click()
    await page.locator('button[type=submit][aria-disabled=true]').waitFor()
    const refused = service.client()
    await assert.rejects(refused.login(reader), /logins-closed|403/)

    await page.getByRole('button', { name: 'Appearance, Language' }).click()
    await page.getByRole('button', { name: 'Deutsch' }).click()
    await page.getByRole('heading', { level: 1, name: 'Hinweis' }).waitFor()
    await page.getByLabel('Zeigen', { exact: true }).uncheck()
    await button(page, 'Speichern').click()
    await page.locator('.alert').waitFor({ state: 'detached' })
    // A page that opens in German waits for its texts.
    await desk.open('admin/people')
    await page.getByRole('heading', { level: 1, name: 'Personen' }).waitFor()
    await page.getByRole('row', { name: /aktiv/ }).first().waitFor()
    const paths = ['admin/entities/letters', 'admin/import', 'admin/system', 'admin/audit']
    for (const path of isLong ? paths : paths.slice(0, 1)) {
      await desk.open(path)
      await assertAccessible(page, `${path} in German`)
      await takePicture(page, `${path.replaceAll('/', '-')}-de-1440-light`)
    }
    desk.assertQuiet()
    anybody.assertQuiet()
  },
)

async function logInAtProxy(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Continue with Apache' }).click()
  await page.getByLabel('User').fill('ruth')
  await page.getByLabel('Password').fill('ruth')
  await page.getByRole('button', { name: 'Log in at the proxy' }).click()
}
