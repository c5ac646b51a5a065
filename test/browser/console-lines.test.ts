import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { assertAccessible, button, openArchive, said } from '../support/clients/console.ts'
import { reader } from '../support/data/archive.ts'
import { testOn } from '../support/service/engines.ts'
import { passwordOf } from '../support/service/service.ts'

/** Drops a file on the drop area, as a pointer does. */
async function drop(page: Page, name: string, text: string): Promise<void> {
  const data = await page.evaluateHandle(
    ([file = '', content = '']) => {
      const transfer = new DataTransfer()
      transfer.items.add(new File([content], file, { type: 'text/csv' }))
      return transfer
    },
    [name, text],
  )
  const place = page.locator('.drop')
  await place.dispatchEvent('dragover', { dataTransfer: data })
  await page.locator('.drop.over').waitFor()
  await place.dispatchEvent('drop', { dataTransfer: data })
}

testOn('sqlite', 'CO4 without a line, a page says so, and goes on when the line is back', async t => {
  const { desk, page } = await openArchive(t, { as: reader })
  await desk.open('entities/letters')
  desk.expectRefusals()
  await desk.context.setOffline(true)
  await page.getByRole('button', { name: 'year', exact: true }).click()
  await page.getByRole('heading', { name: 'No connection to the service' }).waitFor()
  await assertAccessible(page, 'offline')
  // A page that hasn't been opened before needs another file of the console.
  await page.getByRole('navigation').getByRole('link', { name: 'Items' }).click()
  await page.getByRole('heading', { level: 1, name: 'letters' }).waitFor({ state: 'detached' })
  await page.getByRole('heading', { name: 'No connection to the service' }).waitFor()
  await desk.context.setOffline(false)
  await page.getByRole('link', { name: 'Bertha to Câmara, Basel' }).waitFor()
  await page.goBack()
  await page.locator('th[aria-sort=ascending]', { hasText: 'year' }).waitFor()
  await desk.context.setOffline(true)
  await page.getByRole('button', { name: 'pages', exact: true }).click()
  await page.getByRole('heading', { name: 'No connection to the service' }).waitFor()
  await desk.context.setOffline(false)
  await page.locator('th[aria-sort=ascending]', { hasText: 'pages' }).waitFor()
})

testOn('sqlite', 'CO5 a dropped file whose sending breaks off goes on where it was', async t => {
  const { service, desk, page } = await openArchive(t)
  await desk.open('admin/import')
  const sent: string[] = []
  let broken = 0
  await page.route('**/api/uploads/*', async (route, request) => {
    if (request.method() !== 'PATCH') return route.continue()
    sent.push(request.headers()['upload-offset'] ?? '')
    if (broken++ < 2) return route.abort('connectionreset')
    return route.continue()
  })
  desk.expectRefusals()
  const rows = Array.from({ length: 2_000 }, (_, at) => `${at},ship ${at}`)
  await drop(page, 'ships.csv', `id,name\n${rows.join('\n')}\n`)
  await page.getByText('2,000 records, no faults (CSV)').waitFor()
  assert.equal(sent.length, 3)
  assert.equal((await service.storage.entities.all()).has('ships'), false)
  await button(page, 'Import as ships').click()
  await page.locator('main').getByText('completed').waitFor()
  assert.equal((await service.storage.entities.all()).has('ships'), true)
})

testOn('sqlite', 'CO6 a changed password keeps this session, and ends the others', async t => {
  const { service, desk, page } = await openArchive(t, { as: reader })
  const elsewhere = service.client()
  await elsewhere.login(reader)
  await desk.open('account')
  const fill = async (current: string, next: string) => {
    await page.getByLabel('Current password').fill(current)
    await page.getByLabel('New password', { exact: true }).fill(next)
    await page.getByLabel('New password, once more').fill(next)
    await button(page, 'Change the password').click()
  }
  desk.expectRefusals()
  await fill('not my password', 'another one of mine')
  await page.getByText('This is not your current password.').waitFor()
  await fill(passwordOf(reader), 'another one of mine')
  await said(page, /Your password is changed/)
  assert.equal(await elsewhere.isLoggedIn(), false)
  await desk.open('sessions')
  await page.getByText('this session').waitFor()
  assert.equal(await page.locator('.cards > li').count(), 1)
  assert.equal((await elsewhere.tryLogin(reader, passwordOf(reader))).status, 401)
  assert.equal((await elsewhere.tryLogin(reader, 'another one of mine')).status, 200)
  desk.assertQuiet()
})

testOn(
  'sqlite',
  'CO6 what the service knows of someone is downloaded as a file, without secrets',
  async t => {
    const { desk, page } = await openArchive(t, { as: reader })
    await desk.open('account')
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      button(page, 'Download your data').click(),
    ])
    assert.equal(file.suggestedFilename(), `carrel-${reader}.json`)
    const text = readFileSync(await file.path(), 'utf8')
    const data = JSON.parse(text) as Record<string, { readonly email?: string } & readonly unknown[]>
    assert.deepEqual(Object.keys(data), [
      'made',
      'profile',
      'groups',
      'sessions',
      'tokens',
      'factors',
      'events',
    ])
    assert.equal(data.profile?.email, reader)
    assert.ok((data.sessions?.length ?? 0) > 0 && (data.events?.length ?? 0) > 0)
    assert.doesNotMatch(text, /eyJ|carrel_pat_|argon2/)
    desk.assertQuiet()
  },
)
