import assert from 'node:assert/strict'
import { assertAccessible, button, openArchive, openDesk, takePicture } from '../support/clients/console.ts'
import { reader } from '../support/data/archive.ts'
import { testOn } from '../support/service/engines.ts'

testOn('sqlite', 'CO4 an answer that does not come is told after ten seconds', async t => {
  const { desk, page } = await openArchive(t, { as: reader })
  await page.clock.install()
  let hangs = true
  await page.route('**/api/query/v4/letters?*', route => (hangs ? undefined : route.continue()))
  await page.getByRole('navigation').getByRole('link', { name: 'letters' }).click()
  await page.getByRole('heading', { level: 1, name: 'letters' }).waitFor()
  await page.locator('.skeleton').waitFor()
  assert.equal(await page.getByText('takes longer than usual').count(), 0)
  await page.clock.fastForward(11_000)
  await page.getByText('The service takes longer than usual to answer.').waitFor()
  await takePicture(page, 'slow-1440-light')
  hangs = false
  await button(page, 'Load again').click()
  await page.getByRole('table').waitFor()
  desk.assertQuiet()
})

testOn(
  'sqlite',
  'CO4 a page for someone says that the service is away, and goes on when it is back',
  async t => {
    const { desk, page } = await openArchive(t, { as: reader })
    desk.expectRefusals()
    await page.route('**/api/**', route => route.fulfill({ status: 403, body: '' }))
    await page.goto(`${new URL(page.url()).origin}/console/account`)
    await page.getByRole('main').getByRole('heading', { level: 2 }).first().waitFor()
    assert.equal(await page.locator('.skeleton').count(), 0)
    await assertAccessible(page, 'a service that is away')
    await page.unrouteAll()
    const again = button(page, 'Try again')
    if (await again.isVisible()) await again.click()
    else await page.reload()
    await page.getByRole('heading', { name: 'New password' }).waitFor()
  },
)

testOn('sqlite', 'CO4 what can not be counted is no endless wait', async t => {
  const { service } = await openArchive(t, { as: null })
  const desk = await openDesk(t, service.front)
  desk.expectRefusals()
  await desk.page.route('**/api/query/v4/items?*', route => route.fulfill({ status: 403, body: '{}' }))
  await desk.open('')
  await desk.page.getByText('They could not be counted.').waitFor()
})

testOn('sqlite', 'CO4 who may read an item, and how someone logged in, is said in words', async t => {
  const { desk, page } = await openArchive(t)
  await desk.open('admin/items')
  const cells = await page.getByRole('table').first().locator('td').allTextContents()
  assert.ok(cells.length > 0)
  assert.deepEqual(
    cells.filter(text => /[{}"]/.test(text)),
    [],
  )
  await page.evaluate(() => localStorage.setItem('carrel.language', 'de'))
  await desk.open('sessions')
  await page.getByText(/^Mit Passwort, seit/).waitFor()
  await page.getByRole('cell', { name: 'gelungen' }).first().waitFor()
  assert.equal(await page.getByRole('cell', { name: 'success' }).count(), 0)
  desk.assertQuiet()
})
