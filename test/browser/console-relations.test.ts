import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import {
  assertAccessible,
  assertFits,
  button,
  openArchive,
  phone,
  said,
  settled,
  takePicture,
} from '../support/clients/console.ts'
import { list } from '../support/clients/listings.ts'
import { testOn } from '../support/service/engines.ts'

/** Painters, and paintings whose lists of contributors have their numbers. */
async function open(t: TestContext, look: Parameters<typeof openArchive>[1] = {}) {
  const archive = await openArchive(t, look)
  const { service } = archive
  await service.addRecords(
    'painters',
    'id',
    ['Ruth', 'Zoë', 'Ada'].map((name, at) => ({ id: at + 1, name, born: 1930 + at })),
  )
  await service.addRecords(
    'paintings',
    'id',
    Array.from({ length: 25 }, (_, at) => ({
      id: at + 1,
      title: `Work ${String.fromCharCode(89 - at)}`,
      year: 1950 + at,
      by: [{ id: 1, role: 'artist' }, ...(at < 2 ? [{ id: 2, role: 'engraver' }] : [])],
    })),
  )
  return archive
}

const relation = { fields: ['by[*].id'], to: { entity: 'painters', fields: ['id'] } }

testOn(
  'sqlite',
  'CO8 Q21 an administrator relates collections by a path that is offered, and is told what never matches',
  async t => {
    const { service, desk, page } = await open(t)
    await desk.open('admin/entities/paintings')
    await button(page, 'Add a relation').click()
    const own = page.getByLabel('Field here')
    await page.getByLabel('Leads to').selectOption('painters')
    await own.locator('option', { hasText: 'by[*].id' }).waitFor({ state: 'attached' })
    assert.deepEqual(await own.locator('optgroup').locator('option').allTextContents(), [
      'by[*].id',
      'by[*].role',
    ])
    await own.selectOption('by[*].role')
    await page.getByLabel('Field of painters').selectOption('id')
    await settled(page)
    await assertAccessible(page, 'the form of a relation')
    await takePicture(page, 'relation-form-1440-light')
    await button(page, 'Add to the list').click()
    desk.expectRefusals()
    await button(page, 'Save').click()
    await page
      .getByText('The values of paintings.by[*].role are texts and those of painters.id are numbers')
      .waitFor()

    // What relates nothing yet is saved, with a warning.
    await button(page, /^Remove: by\[\*\]\.role/).click()
    await button(page, 'Add a relation').click()
    await page.getByLabel('Leads to').selectOption('painters')
    await own.selectOption('Another path…')
    await page.getByLabel('Path', { exact: true }).fill('by[*].role')
    await page.getByLabel('Field of painters').selectOption('name')
    await button(page, 'Add to the list').click()
    await button(page, 'Save').click()
    await said(page, 'Saved')
    await page.getByText('Saved, but no record of paintings belongs to one of painters yet').waitFor()
    await takePicture(page, 'relation-warning-1440-light')

    await button(page, /^Remove: by\[\*\]\.role/).click()
    await button(page, 'Add a relation').click()
    await page.getByLabel('Leads to').selectOption('painters')
    await own.locator('option', { hasText: 'by[*].id' }).waitFor({ state: 'attached' })
    await own.selectOption('by[*].id')
    await page.getByLabel('Field of painters').selectOption('id')
    await button(page, 'Add to the list').click()
    await button(page, 'Save').click()
    await page.getByText('Saved, but').waitFor({ state: 'detached' })
    const shown = await list<{ name: string; relations?: unknown }>(service.client(), '')
    assert.deepEqual(shown.find(({ name }) => name === 'paintings')?.relations, [relation])
  },
)

for (const [what, look] of [
  ['1440-light', {}],
  ['360-dark', { size: phone, theme: 'dark' }],
] as const)
  testOn(
    'sqlite',
    `CO4 Q21 related records are a table with a count, sorted by a click, whose link shows them all (${what})`,
    async t => {
      const { service, desk, page } = await open(t, look)
      await service.storage.entities.describe(
        'paintings',
        { relate: relation },
        commandEvent('entity.relate'),
      )
      await desk.open('entities/painters/records/1')
      await page.getByRole('heading', { level: 2, name: 'paintings 25' }).waitFor()
      const table = page.getByRole('region', { name: 'paintings' })
      const first = table.getByRole('row').nth(1)
      await first.getByText('Work Y').waitFor()
      await table.getByRole('button', { name: 'title' }).press('Enter')
      await first.getByText('Work A').waitFor()
      await page.getByText('1–10 of 25').waitFor()
      await settled(page)
      await assertFits(page, 'a record with related ones')
      await assertAccessible(page, 'a record with related ones')
      await takePicture(page, `related-${what}`)
      await button(page, 'Next page').click()
      await first.getByText('Work K').waitFor()
      await page.getByRole('link', { name: 'Show all 25 in a table' }).click()
      await page.getByRole('heading', { level: 1, name: 'paintings' }).waitFor()
      const { searchParams } = new URL(page.url())
      assert.deepEqual([searchParams.get('q'), searchParams.get('sort')], ['by[*].id = 1', 'title'])
      await page.getByText('Work A').waitFor()

      await desk.open('entities/paintings/records/1')
      await page.getByRole('heading', { level: 2, name: 'painters 2' }).waitFor()
      await page.getByRole('link', { name: 'Show all 2 in a table' }).click()
      assert.equal(new URL(page.url()).searchParams.get('q'), 'paintings { id = 1 }')
      await page.getByText('Zoë').first().waitFor()
      assert.equal(await page.getByText('Ada', { exact: true }).count(), 0)
      await desk.open('entities/painters/records/3')
      await page.getByRole('heading', { level: 2, name: 'paintings' }).waitFor()
      desk.assertQuiet()
    },
  )
