import assert from 'node:assert/strict'
import {
  assertAccessible,
  button,
  openArchive,
  said,
  settled,
  takePicture,
} from '../support/clients/console.ts'
import { addStars, stars } from '../support/data/exact.ts'
import { testOn } from '../support/service/engines.ts'

testOn(
  'sqlite',
  'CO5 numbers beyond 2^53 keep all digits: in tables, records, links, filters, previews and the trail',
  async t => {
    const { service, desk, page } = await openArchive(t)
    await addStars(service)
    await desk.open('entities/stars?sort=id')
    const link = page.getByRole('link', { name: '9007199254740993' })
    await link.waitFor()
    await page.getByRole('cell', { name: '-9223372036854775807' }).waitFor()
    await page.getByRole('cell', { name: '{"seen":[123456789012345678,7]}' }).waitFor()
    await takePicture(page, 'exact-1440-light')
    await link.click()
    await page.getByRole('heading', { level: 1, name: 'Vega' }).waitFor()
    assert.match(page.url(), /\/records\/9007199254740993$/)
    await page.getByText('-9223372036854775807').waitFor()
    await page.locator('.tree').getByText('123456789012345678', { exact: true }).waitFor()
    await settled(page)
    await assertAccessible(page, 'a record of large numbers')

    // Related records of exactly this key: the neighboring key is a JavaScript number, and this one is not.
    await desk.open('entities/planets/records/9007199254740997')
    const related = page.getByRole('region', { name: 'stars' }).getByRole('row', { name: /9007199254740993/ })
    await related.waitFor()
    await page
      .getByRole('link', { name: /^Show/ })
      .or(page.getByRole('link', { name: /1 record/ }))
      .first()
      .click()
    await page.getByRole('link', { name: '9007199254740993' }).waitFor()
    assert.equal(new URL(page.url()).searchParams.get('q'), 'id = 9007199254740993')
    assert.equal(await page.getByRole('link', { name: '9007199254740995' }).count(), 0)

    // A condition set with the filter's controls.
    await page.getByRole('button', { name: 'Filter' }).click()
    await page
      .getByLabel(/^Value/)
      .first()
      .fill('9007199254740995')
    await page
      .getByLabel(/^Value/)
      .first()
      .press('Enter')
    await page.getByRole('link', { name: '9007199254740995' }).waitFor()
    assert.match(page.url(), /q=id\+%3D\+9007199254740995/)

    // In the preview of an import, and in declarations.
    await desk.open('admin/import')
    await page.locator('input[type=file]').setInputFiles({
      name: 'suns.ndjson',
      mimeType: 'application/x-ndjson',
      buffer: Buffer.from(stars),
    })
    await page.getByRole('heading', { name: 'What is in the file' }).waitFor()
    await page.getByRole('cell', { name: '9007199254740993' }).first().waitFor()
    await desk.open('admin/entities/stars')
    const condition = page.getByLabel('Queries that name no condition get only these records')
    await condition.fill('["<=","id",9007199254740993]')
    await button(page, 'Save').click()
    await said(page, 'Saved')
    await page.reload()
    await settled(page)
    assert.equal(await condition.inputValue(), '["<=","id",9007199254740993]')
    await desk.open('entities/stars')
    await page.getByRole('link', { name: '9007199254740993' }).waitFor()
    assert.equal(await page.getByRole('link', { name: '9007199254740995' }).count(), 0)

    // The audit event has the exact values.
    const client = service.client()
    await client.login('importer@example.org')
    const { value } = await client.csrfPair()
    const changed = await client.request('/api/query/v4/stars/9007199254740993', {
      method: 'PATCH',
      body: '{"distance": 9007199254740999}',
      headers: { 'content-type': 'application/merge-patch+json', 'x-xsrf-token': value },
    })
    assert.equal(changed.status, 200, await changed.text())
    await desk.open('admin/audit?event=record.change')
    await page.getByRole('main').getByRole('table').getByRole('link').first().click()
    await page.getByRole('row', { name: /distance -9223372036854775807 9007199254740999/ }).waitFor()
    desk.assertQuiet()
  },
)
