import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { commandEvent } from '../../src/cli/store.ts'
import {
  button,
  dialog,
  openArchive,
  openDesk,
  said,
  screen,
  settled,
  showTools,
} from '../support/clients/console.ts'
import { reader } from '../support/data/archive.ts'
import { recordPath } from '../support/data/record-writes.ts'
import { startReverseProxy } from '../support/providers/reverse-proxy.ts'
import { testOn } from '../support/service/engines.ts'
import { passwordOf, startService } from '../support/service/service.ts'

const curator = 'cora@example.org'
/** Reads the store, with a session of their own. */
const watcher = 'wanda@example.org'
const sizes = [screen, { width: 390, height: 800 }]

/** Opens the console as a curator. Readers may write letters, too, so a refusal doesn't hide what is sent. */
async function open(t: TestContext, size: (typeof sizes)[number]) {
  const archive = await openArchive(t, { size, as: null })
  const { service, desk, page } = archive
  await service.addEperson(curator, { groups: ['Readers'] })
  await service.storage.entities.changeWriteRule('letters', 'group:Readers', commandEvent('entity.writers'))
  await desk.logIn(curator)
  const writes: string[] = []
  page.on('request', request => {
    if (/^(PATCH|PUT|DELETE)$/.test(request.method())) writes.push(request.url())
  })
  await service.addEperson(watcher)
  const client = service.client()
  await client.login(watcher)
  const titleOf = async (id: number) =>
    ((await (await client.get(recordPath('letters', id))).json()) as { readonly title: string }).title
  return { ...archive, writes, titleOf }
}

const cell = (page: Page, row: number, field: string) =>
  page.locator(`td[data-row="${row}"][data-field="${field}"]`)

async function logOut(page: Page): Promise<void> {
  const menu = page.getByRole('banner').getByRole('button', { name: 'Menu' })
  if (await menu.isVisible()) await menu.click()
  await page
    .getByRole('button', { name: /^Account of|Test Person|@example\.org/ })
    .last()
    .click()
  const left = page.waitForEvent('load')
  await button(page, 'Log out').last().click()
  await left
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
}

async function givePassword(place: Page | Locator, email: string): Promise<void> {
  await place.getByLabel('Email address').fill(email)
  await place.getByLabel('Password', { exact: true }).fill(passwordOf(email))
  await place.getByRole('button', { name: 'Log in', exact: true }).click()
}

/** What the tab keeps, apart from whose it is. */
const keptIn = (page: Page) =>
  page.evaluate(() => Object.keys(sessionStorage).filter(key => !key.endsWith('.owner')))

testOn('sqlite', 'CO20 CO6 services below one origin leave the sessions of each other alone', async t => {
  const front = await startReverseProxy(t)
  for (const below of ['/one', '/one.more']) {
    const service = await startService(t, { env: { CARREL_BASE_URL: front.address + below } })
    await service.addEperson(curator)
    front.forwardTo(service.address, `${below}/`)
  }
  const desk = await openDesk(t, `${front.address}/one`)
  const { page } = desk
  const other = await desk.context.newPage()
  await desk.logIn(curator)
  await desk.open('tokens')
  const heading = page.getByRole('heading', { level: 1, name: 'Access tokens' })
  await heading.waitFor()
  await other.goto(`${front.address}/one.more/console/login`)
  await givePassword(other.getByRole('main'), curator)
  await other.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  const listed = page.waitForResponse(response => response.url().includes('/authn/tokens'))
  await page.reload()
  assert.equal((await listed).status(), 200)
  await heading.waitFor()
  await logOut(other)
  await page.reload()
  await heading.waitFor()
  await settled(page)
  assert.equal(await page.getByRole('link', { name: 'Log in' }).count(), 0)
  assert.ok(
    (await keptIn(page)).length < (await page.evaluate(() => sessionStorage.length)),
    'it keeps whose it is',
  )
  desk.assertQuiet()
})

for (const size of sizes) {
  testOn(
    'sqlite',
    `CO20 a log-out ends what a person typed and can undo, in every tab, at ${size.width} px`,
    async t => {
      const { desk, page, writes, titleOf } = await open(t, size)
      const other = await desk.context.newPage()
      await desk.open('questions')
      await page.getByLabel('Question in PQL or as an AST').fill('letters { title = "private" }')
      await desk.open('tokens')
      await button(page, 'Make an access token').click()
      await dialog(page).getByLabel('Name').fill('private token')
      await other.goto(new URL('/console/entities/letters/records/5', page.url()).href)
      await button(other, 'Edit').click()
      await other.getByLabel('title', { exact: true }).fill('private title')
      await desk.open('entities/letters?q=title%20~%20%22Abel%22')
      await showTools(page)
      await button(page, 'Edit').click()
      const before = await titleOf(1)
      await cell(page, 1, 'title').dblclick()
      await page.getByLabel('title', { exact: true }).fill('Abel changed')
      await page.keyboard.press('Enter')
      await said(page, 'Record 1 is changed.')
      assert.ok((await keptIn(page)).length > 1)

      await logOut(page)
      await other.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      assert.deepEqual([await keptIn(page), await keptIn(other)], [[], []])
      assert.equal(await page.getByText('Record 1 is changed.').count(), 0)
      // The way back shows no filter of the one who left.
      await page.goBack()
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      assert.ok(!page.url().includes('Abel'), page.url())

      await desk.logIn(reader)
      writes.length = 0
      await page.keyboard.press('Control+z')
      await desk.open('questions')
      const question = page.getByLabel('Question in PQL or as an AST')
      await question.waitFor()
      assert.equal(await question.inputValue(), '')
      assert.equal(await page.getByText('private').count(), 0)
      await desk.open('tokens')
      await button(page, 'Make an access token').click()
      assert.equal(await dialog(page).getByLabel('Name').inputValue(), '')
      await desk.open('entities/letters/records/5')
      await showTools(page)
      await button(page, 'Edit').click()
      assert.notEqual(await page.getByLabel('title', { exact: true }).inputValue(), 'private title')
      assert.deepEqual([writes, await titleOf(1)], [[], 'Abel changed'])
      assert.notEqual(before, 'Abel changed')
      desk.assertQuiet()
    },
  )

  testOn(
    'sqlite',
    `CO20 another person who logs in after a session that ran out neither sees nor sends what the first one typed, at ${size.width} px`,
    async t => {
      const { service, desk, page, writes, titleOf } = await open(t, size)
      const { uuid = '' } = (await service.storage.people.credentials(curator)) ?? {}
      const runOut = () => service.storage.sessions.logout(uuid, commandEvent('logout'))
      desk.expectRefusals()
      const edit = async () => {
        await desk.open('entities/letters?q=title%20~%20%22Abel%22')
        await showTools(page)
        await button(page, 'Edit').click()
        // The record is read before the session ends.
        const read = page.waitForResponse(response => response.url().endsWith(recordPath('letters', 1)))
        await cell(page, 1, 'title').dblclick()
        await (await read).finished()
        await page.getByLabel('title', { exact: true }).fill('Of Cora')
      }
      const before = await titleOf(1)
      await edit()
      await runOut()
      await page.keyboard.press('Enter')
      await dialog(page).getByRole('heading', { name: 'Your session is over' }).waitFor()
      await givePassword(dialog(page), reader)
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      await settled(page)
      assert.ok(!page.url().includes('Abel'), page.url())
      assert.equal(await titleOf(1), before)
      assert.ok(writes.length <= 1, 'the change was sent only with the session that had ended')
      assert.deepEqual(await keptIn(page), [])

      // The same person goes on, and what was asked for is done.
      await logOut(page)
      await desk.logIn(curator)
      await edit()
      await runOut()
      await page.keyboard.press('Enter')
      await givePassword(dialog(page), curator)
      await said(page, 'Record 1 is changed.')
      assert.equal(await titleOf(1), 'Of Cora')
      await page.keyboard.press('Control+z')
      await said(page, 'It is as it was before.')
      assert.equal(await titleOf(1), before)
      desk.assertQuiet()
    },
  )
}
