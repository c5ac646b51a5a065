import assert from 'node:assert/strict'
import { openPage } from '../support/clients/browser.ts'
import { assertAccessible } from '../support/clients/console.ts'
import { testOn } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

testOn(
  'sqlite',
  'OD4 the reference page opens on the operations, without a word in the console of the browser or a fault by axe',
  async t => {
    const service = await startService(t)
    await service.addRecords('letters', 'id', [{ id: 1, title: 'A' }])
    const page = await openPage(t, { width: 1200, height: 900 })
    const said: string[] = []
    page.on('console', message => void said.push(`${message.type()}: ${message.text()}`))
    page.on('pageerror', error => void said.push(error.message))
    const asked: string[] = []
    page.on('request', request => void asked.push(request.url()))
    await page.goto(`${service.address}/api/docs`)
    await page.getByRole('heading', { name: 'Carrel', level: 1 }).waitFor()
    await page.getByText('Items and files', { exact: true }).click()
    await page.locator('[data-path="/api/core/items/{uuid}"]').first().click()
    await page.getByText('There is nothing at this address', { exact: false }).first().waitFor()
    assert.ok((await page.getByText('An item', { exact: true }).count()) > 0)
    assert.deepEqual(said, [])
    assert.deepEqual(
      asked.filter(url => !url.startsWith(`${service.address}/`) && !url.startsWith('data:')),
      [],
    )
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await assertAccessible(page, colorScheme)
    }
  },
)
