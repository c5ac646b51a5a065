import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import {
  assertAccessible,
  assertFits,
  button,
  openArchive,
  phone,
  screen,
  settled,
  takePicture,
} from '../support/clients/console.ts'
import { list } from '../support/clients/listings.ts'
import { testOn } from '../support/service/engines.ts'

const give = (page: Page, name: string, content: string) =>
  page
    .locator('input[type=file]')
    .first()
    .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(content) })

const header = 'Nr;Titel;Preis;Erworben;Themen;Notiz'

/** A table as a museum in Europe may write it. @param count number of rows */
const messy = (count: number, price = 12) =>
  [
    header,
    ...Array.from({ length: count }, (_, at) => {
      const cost = at % 9 === 4 ? 'n/a' : `1.2${price},5${at % 10}`
      const date = at % 11 === 7 ? 'o. D.' : `${(at % 28) + 1}.12.2024`
      return `${at + 1};Blatt ${at + 1};${cost};${date};"Kunst; Musik";intern`
    }),
  ].join('\r\n')

/** Waits until the file has been checked again. */
const checked = (page: Page) => page.locator('.section.old').waitFor({ state: 'detached' })

const row = (page: Page, name: string) => page.locator('main tr').filter({ hasText: name }).first()

testOn(
  'sqlite',
  'CO8 a curator repairs a messy table by offers alone, imports the next one by the kept recipe, and undoes it',
  async t => {
    const { service, desk, page } = await openArchive(t)
    const records = () => list(service.client(), 'sheets', { order_by: [{ field: 'Nr' }] })
    await desk.open('admin/import')
    await give(page, 'Sheets.csv', messy(40))
    await page.getByText('40 records, no faults (CSV, semicolons)').waitFor()
    await row(page, 'Preis')
      .getByText('numbers with decimal comma: 36; other texts: 4, first on line 6: “n/a”')
      .waitFor()
    await takePicture(page, 'import-offers-1440-light')
    await assertAccessible(page, 'offers')

    // Each choice is checked at once.
    await button(page, 'Read as number with decimal comma, “n/a” as empty').click()
    await checked(page)
    assert.equal(await page.getByLabel('Type of Preis').inputValue(), 'decimal-comma')
    await button(page, 'Read as date with the day first, “o. D.” as empty').click()
    await button(page, 'Split into a list at “;”').click()
    await button(page, 'Change Notiz').click()
    await page.getByRole('dialog').getByLabel('Leave this field out').check()
    await checked(page)
    await assertAccessible(page, 'change a field')
    await takePicture(page, 'import-change-1440-light')
    await page.getByRole('dialog').getByRole('button', { name: 'Change', exact: true }).click()
    await button(page, 'Change Titel').click()
    await page.getByRole('dialog').getByLabel('Name in the collection').fill('title')
    await page.getByRole('dialog').getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByText('(in the file: Titel)').waitFor()
    await checked(page)

    // A name is judged where it is typed; neither it nor the readers read the file again.
    const name = page.getByLabel('Name of the collection')
    let checks = 0
    page.on('request', request => {
      if (request.url().includes('preview=true')) checks++
    })
    await name.fill('My sheets')
    await page.locator('.fault').getByText('Use a–z, 0–9, _ and -').waitFor()
    await name.fill('sheets')
    await page.getByLabel('Who may read').selectOption('anonymous')
    await page.getByText('left out').waitFor()
    await page.setViewportSize(phone)
    await assertFits(page, 'offers on a phone')
    await takePicture(page, 'import-offers-360-light')
    await page.emulateMedia({ colorScheme: 'dark' })
    await assertAccessible(page, 'offers in the dark')
    await takePicture(page, 'import-offers-360-dark')
    await page.setViewportSize({ width: 1440, height: 900 })
    await takePicture(page, 'import-offers-1440-dark')
    await page.emulateMedia({ colorScheme: 'light' })
    assert.equal(checks, 0)
    await button(page, 'Import as sheets').click()
    await page.locator('main').getByText('completed').waitFor()
    const [first, , , , fifth] = await records()
    assert.deepEqual(first, {
      ...{ Nr: 1, title: 'Blatt 1', Preis: 1212.5, Erworben: '2024-12-01', Themen: ['Kunst', 'Musik'] },
    })
    assert.equal(fifth?.Preis, null)

    // The next file is read in the same way, and says what would change.
    await desk.open('admin/import?entity=sheets')
    await give(page, 'Sheets February.csv', messy(30, 13))
    await page.getByText('The file is read by the recipe that sheets has from the import before.').waitFor()
    await page.getByText('10 of 40 records go; there will be 30.').waitFor()
    await page.locator('.effect').getByText('31 · 32 · 33').waitFor()
    await page.locator('summary').getByText('The first 10 changed records').click()
    await page.getByRole('cell', { name: '1213.5', exact: false }).first().waitFor()
    await takePicture(page, 'import-effect-1440-light')
    await assertAccessible(page, 'what would change')
    await button(page, 'Import as sheets').click()
    const asked = page.getByRole('dialog', { name: 'Replace the records of sheets?' })
    await asked.getByLabel('Type “sheets” to confirm').fill('sheets')
    await asked.getByRole('button', { name: 'Import as sheets' }).click()
    await page.locator('main').getByText('completed').waitFor()
    assert.equal((await records()).length, 30)

    await page.getByRole('link', { name: 'Versions before' }).click()
    await page
      .getByRole('button', { name: /^Restore: / })
      .first()
      .click()
    await page.getByText(/^sheets has its 40 records again\.$/).waitFor()
    await settled(page)
    assert.equal((await records()).length, 40)
    desk.assertQuiet()
  },
)

/** Years as a museum may keep them: numbers, some of them written as texts, and words. */
const years = Array.from({ length: 30 }, (_, at) => ({
  id: at + 1,
  year:
    at === 3 ? 'c.1997-9' : at % 10 === 5 ? 'no date' : at % 7 === 2 ? null : at === 11 ? '1997' : 1_900 + at,
}))

for (const size of [screen, { width: 390, height: 800 }])
  testOn(
    'sqlite',
    `CO8 a repair of mixed values says what becomes of each, ends in a type, and nothing is green before, at ${size.width} px`,
    async t => {
      const { service, desk, page } = await openArchive(t, { size })
      await desk.open('admin/import')
      await give(page, 'years.ndjson', years.map(one => JSON.stringify(one)).join('\n'))
      await page
        .getByText('30 records. Values of several kinds: year. Choose below how they are read.')
        .waitFor()
      assert.equal(await page.locator('.notice.good').count(), 0)
      const year = row(page, 'year')
      await year.getByText('The text “1997” on line 12 is read as whole number.').waitFor()
      await year.getByText('Read as empty: “c.1997-9” (1), “no date” (3).').waitFor()
      await takePicture(page, `import-mixed-${size.width}-light`)
      await assertAccessible(page, 'mixed values')
      await assertFits(page, 'mixed values')
      await button(page, 'Read as whole number, “c.1997-9”, “no date” as empty').click()
      await checked(page)
      await page.getByText('30 records, no faults (NDJSON)').waitFor()
      await year.getByText('Read as empty: “c.1997-9”, “no date”.').waitFor()
      await page.getByLabel('Who may read').selectOption('anonymous')
      await button(page, 'Import as years').click()
      await page.locator('main').getByText('completed').waitFor()
      const entity = (await service.storage.entities.all()).get('years')
      assert.deepEqual(entity?.fields[1], { name: 'year', type: 'integer', nullable: true })
      const records = await list<{ readonly year: number | null }>(service.client(), 'years', {
        order_by: [{ field: 'id' }],
      })
      assert.deepEqual(
        records.map(one => one.year),
        years.map(one => (one.year === '1997' ? 1997 : typeof one.year === 'string' ? null : one.year)),
      )
      desk.assertQuiet()
    },
  )
