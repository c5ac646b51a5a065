import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import {
  assertAccessible,
  assertFits,
  button,
  dialog,
  openArchive,
  phone,
  said,
  settled,
  takePicture,
} from '../support/clients/console.ts'
import { list } from '../support/clients/listings.ts'
import { atEnd } from '../support/service/at-end.ts'
import { runSql } from '../support/service/databases.ts'
import { testOn } from '../support/service/engines.ts'
import { dropReader } from '../support/service/exposed-tables.ts'

const sql = `
  CREATE SCHEMA stock;
  CREATE TABLE stock."Œuvres d’art" (id bigint PRIMARY KEY, title text NOT NULL, price numeric, mark point);
  CREATE VIEW stock.titles AS SELECT id, title FROM stock."Œuvres d’art";
  INSERT INTO stock."Œuvres d’art" VALUES (1, 'Blue', 10), (2, '<b>Red</b>', 20), (3, 'Blue', 30)`

async function open(t: TestContext, look: Parameters<typeof openArchive>[1] = {}) {
  // Roles belong to the server, and remain when the database is dropped.
  let name = ''
  atEnd(t, () => dropReader(name))
  const archive = await openArchive(t, look)
  const { database } = archive.service.config
  assert.ok(database.kind === 'postgres')
  const { url } = database
  name = new URL(url).pathname.slice(1)
  await runSql(url, sql)
  return archive
}

testOn(
  'postgres',
  'CO8 a table is shown as an entity without the columns that are left out, and taken back',
  async t => {
    const { service, desk, page } = await open(t)
    await desk.open('admin/entities')
    await page.getByRole('link', { name: 'Show a table' }).click()
    await page.getByRole('row', { name: /stock\.titles view 2 – –/ }).waitFor()
    await settled(page)
    await assertAccessible(page, 'the list of tables')
    await takePicture(page, 'tables-1440-light')
    await page.getByRole('searchbox').fill('œuvres')
    await page.getByRole('row', { name: /stock\.titles/ }).waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'stock.Œuvres d’art' }).click()
    const name = page.getByLabel('Collection of records', { exact: true })
    await name.waitFor()
    assert.equal(await name.inputValue(), 'uvres_d_art')
    assert.equal(await page.getByLabel('Key: id').isChecked(), true)
    assert.equal(await page.getByLabel('Key: mark').isDisabled(), true, 'its values have no order')
    assert.equal(await page.getByLabel('Show id').isDisabled(), true, 'the key is shown')
    await page.getByLabel('Show price').uncheck()
    await page.getByLabel('Who may read').selectOption('anonymous')
    await settled(page)
    await assertAccessible(page, 'the form of a table')
    await takePicture(page, 'table-1440-light')

    // An existing entity is not replaced.
    desk.expectRefusals()
    await name.fill('letters')
    await button(page, 'Show the table').click()
    await page.getByText('There is a collection of records of this name already.').waitFor()
    await name.fill('oeuvres')
    // By keyboard: Enter submits the form.
    await name.press('Enter')
    await said(page, 'The collection of records oeuvres is there.')
    await page.getByRole('heading', { level: 1, name: 'oeuvres' }).waitFor()
    await page.getByText('stock.Œuvres d’art').waitFor()
    assert.deepEqual(await list(service.client(), 'oeuvres?order_by=[{"field":"id"}]'), [
      { id: 1, title: 'Blue', mark: null },
      { id: 2, title: '<b>Red</b>', mark: null },
      { id: 3, title: 'Blue', mark: null },
    ])
    await desk.open('admin/tables')
    await page.getByRole('row', { name: /Œuvres.*oeuvres/ }).waitFor()

    await page.getByRole('link', { name: 'oeuvres', exact: true }).last().click()
    await button(page, 'Delete the collection').click()
    await dialog(page).getByText('The table is no longer shown. Its rows stay where they are.').waitFor()
    await dialog(page).getByLabel('Type “oeuvres” to confirm').fill('oeuvres')
    await dialog(page).getByRole('button', { name: 'Delete the collection' }).click()
    await page.getByRole('heading', { level: 1, name: 'Collections of records' }).waitFor()
    assert.equal((await service.client().get('/api/query/v4/oeuvres')).status, 404)
    const { url } = service.config.database as { url: string }
    assert.equal((await runSql(url, 'SELECT 1 FROM stock."Œuvres d’art"')).length, 3)
    desk.assertQuiet()
  },
)

testOn(
  'postgres',
  'CO3 CO8 a view needs a key, and what is no key is refused with the reason; at 360 px, dark',
  async t => {
    const { desk, page } = await open(t, { size: phone, theme: 'dark' })
    await desk.open('admin/tables')
    await assertFits(page, 'the list of tables')
    await assertAccessible(page, 'the list of tables')
    await takePicture(page, 'tables-360-dark')
    await page.getByRole('link', { name: 'stock.titles' }).click()
    await page.getByText('Choose the columns of the key.').waitFor()
    assert.equal(await button(page, 'Show the table').getAttribute('aria-disabled'), 'true')
    await page.getByLabel('Key: title').check()
    await page.getByLabel('Show id').uncheck()
    await settled(page)
    await assertFits(page, 'the form of a table')
    await assertAccessible(page, 'the form of a table')
    await takePicture(page, 'table-360-dark')
    desk.expectRefusals()
    await button(page, 'Show the table').click()
    await page
      .getByText(/title can't be the key of stock\.titles: it has duplicate values or nulls/)
      .waitFor()
    await page.getByLabel('Key: id').check()
    await button(page, 'Show the table').click()
    await said(page, 'The collection of records titles is there.')
    await desk.open('admin/tables/stock/nothing')
    await page.getByRole('heading', { name: 'There is no such table' }).waitFor()
    await assertAccessible(page, 'a table that is missing')
    desk.assertQuiet()
  },
)
