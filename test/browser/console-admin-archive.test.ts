import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import {
  administrator,
  assertAccessible,
  assertFits,
  button,
  choose,
  dialog,
  openArchive,
  openDesk,
  phone,
  said,
  settled,
  startDeskService,
  takePicture,
} from '../support/clients/console.ts'
import { fillArchive } from '../support/data/archive.ts'
import { itemFiles, zipOf } from '../support/data/packed.ts'
import { testOn } from '../support/service/engines.ts'

const give = (page: Page, name: string, content: string | Buffer, mimeType = 'text/csv') =>
  page.locator('input[type=file]').setInputFiles({ name, mimeType, buffer: Buffer.from(content) })

testOn(
  'sqlite',
  'CO8 a file becomes an entity: faults by line, types changed, changes counted, then dropped by its name',
  async t => {
    const { service, desk, page } = await openArchive(t)
    await desk.open('admin/entities')
    await page.getByRole('main').getByRole('link', { name: 'Import a file' }).click()
    await give(page, 'Ships 1900.csv', 'id,name,built\n1,Argo,1790\n2,Ariel\n')
    await page.getByText('Line 3:').waitFor()
    assert.equal(await button(page, 'Import as ships-1900').getAttribute('aria-disabled'), 'true')
    await assertAccessible(page, 'faults')

    // A file in another country's format.
    await give(page, 'Ships 1900.csv', 'name;id;price\r\nArgo;1;1.234,5\r\nAriel;2;2,25\r\n')
    await page.getByText('2 records, no faults (CSV, semicolons)').waitFor()
    assert.equal(await page.getByLabel('Key', { exact: true }).inputValue(), 'id')
    await button(page, 'Read as number with decimal comma').waitFor()
    await page.getByText('How the file is read').click()
    await page.getByLabel('Numbers have decimal commas').check()
    await page.getByLabel('Type of price').getByText('number (found)').waitFor({ state: 'attached' })
    await assertAccessible(page, 'how a file is read')

    await give(page, 'Ships 1900.csv', 'id,name,built\n1,Argo,1790\n2,Ariel,1865\n')
    await page.getByText('2 records, no faults (CSV)').waitFor()
    assert.equal(await page.getByLabel('Key', { exact: true }).inputValue(), 'id')
    await page.getByLabel('Name of the collection').fill('ships')
    await page.getByLabel('Type of built').selectOption('text')
    await page.getByLabel('Who may read').selectOption('anonymous')
    await page.locator('.old').waitFor({ state: 'detached' })
    assert.equal((await service.storage.entities.all()).has('ships'), false, 'nothing has happened yet')
    await button(page, 'Import as ships').click()
    await page.locator('main').getByText('completed').waitFor()
    await page.getByRole('heading', { level: 1, name: 'The import into ships is done' }).waitFor()
    await page.getByRole('link', { name: 'Show the records of ships' }).waitFor()
    const ships = (await service.storage.entities.all()).get('ships')
    assert.deepEqual(
      [ships?.read, ships?.fields.find(({ name }) => name === 'built')?.type],
      ['anonymous', 'text'],
    )

    // An import of some of the records.
    await desk.open('admin/import?entity=ships')
    await page.getByRole('heading', { name: 'Import into ships' }).waitFor()
    await give(
      page,
      'more.ndjson',
      '{"id":2,"name":"Ariel","built":"1866"}\n{"id":3,"name":"Endurance","built":"1912"}\n',
    )
    await page.getByLabel('New and changed records').check()
    await page.locator('.effect').getByText('3', { exact: true }).waitFor()
    await takePicture(page, 'import-update-1440-light')
    await button(page, 'Update ships').click()
    await page.locator('main').getByText('completed').waitFor()
    const rows = await (await service.client().get('/api/query/v4/ships?include_total=true&limit=1')).headers
    assert.equal(rows.get('x-records'), '3')

    // A file with fewer records than there are.
    await desk.open('admin/import?entity=ships')
    await page.getByRole('heading', { name: 'Import into ships' }).waitFor()
    await give(page, 'one.csv', 'id,name\n3,Endurance\n')
    await page.getByText('2 of 3 records go; there will be 1.').waitFor()
    await page.getByText('One of 3 fields goes: built').waitFor()
    await assertAccessible(page, 'loss')
    await button(page, 'Import as ships').click()
    const asked = page.getByRole('dialog', { name: 'Replace the records of ships?' })
    await asked.getByText('2 of 3 records go; there will be 1.').waitFor()
    assert.equal(
      await asked.getByRole('button', { name: 'Import as ships' }).getAttribute('aria-disabled'),
      'true',
    )
    await assertAccessible(page, 'loss is asked')
    await asked.getByLabel('Type “ships” to confirm').fill('ships')
    await asked.getByRole('button', { name: 'Import as ships' }).click()
    await page.locator('main').getByText('completed').waitFor()
    const left = await (await service.client().get('/api/query/v4/ships?include_total=true&limit=1')).headers
    assert.equal(left.get('x-records'), '1')

    // Declarations of the entity.
    await desk.open('admin/entities/ships')
    await page.getByLabel('What these records are, for readers').fill('Ships of the line')
    await page.getByLabel('Who may read').selectOption('group:')
    await page.getByLabel('Name', { exact: true }).fill('No such group')
    desk.expectRefusals()
    await button(page, 'Save').click()
    await page
      .locator('.fault')
      .getByText(/No such group/)
      .waitFor()
    await page.getByLabel('Who may read').selectOption('eperson')
    await button(page, 'Save').click()
    await said(page, 'Saved.')
    assert.equal((await service.storage.entities.all()).get('ships')?.description, 'Ships of the line')
    await settled(page)

    // One person may read it, who is found by a part of the address.
    await page.getByLabel('Who may read').selectOption('eperson:')
    await page.getByRole('combobox', { name: 'Name, address or UUID' }).fill(administrator)
    await page.getByRole('option', { name: administrator }).click()
    await page.getByText(`the person ${administrator}`).waitFor()
    await button(page, 'Save').click()
    // “Saved.” may still be there from the time before. With nothing left to save, the button is disabled.
    await page.locator('main button[type="submit"][aria-disabled="true"]').waitFor()
    const { uuid = '' } = (await service.storage.people.credentials(administrator)) ?? {}
    assert.equal((await service.storage.entities.all()).get('ships')?.read, `eperson:${uuid}`)
    await settled(page)

    // The import that lost records is undone with one click.
    await page
      .getByRole('button', { name: /^Restore: / })
      .first()
      .click()
    await said(page, /^ships has its \d+ records again\.$/)
    await page.getByRole('cell', { name: 'Restore a version' }).waitFor()
    const again = (await service.storage.entities.all()).get('ships')?.source
    assert.ok(again?.kind === 'records' && again.count > 1)
    await settled(page)
    await assertAccessible(page, 'versions')
    const { width, height } = page.viewportSize() ?? { width: 1440, height: 900 }
    await page.setViewportSize(phone)
    await assertFits(page, 'versions on a phone')
    await takePicture(page, 'versions-360-light')
    await page.setViewportSize({ width, height })

    await button(page, 'Delete the collection').click()
    await dialog(page).waitFor()
    await page.keyboard.type('ships')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Collections of records' }).waitFor()
    assert.equal((await service.storage.entities.all()).has('ships'), false)
    desk.assertQuiet()
  },
)

testOn('sqlite', 'CO8 the text of a field is sorted by a language, and again by code points', async t => {
  const { service, desk, page } = await openArchive(t)
  const collation = async () =>
    (await service.storage.entities.all()).get('places')?.fields.find(({ name }) => name === 'name')
      ?.collation
  for (const tag of ['sv', '']) {
    await desk.open('admin/entities/places')
    await button(page, 'Change: name').click()
    await dialog(page).getByLabel('Language').fill(tag)
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await page.waitForURL(/admin\/processes\/\d+$/)
    await page.getByRole('main').getByText('completed', { exact: true }).first().waitFor()
    assert.equal((await collation()) ?? '', tag)
  }
  desk.expectRefusals()
  await desk.open('admin/entities/places')
  await button(page, 'Change: name').click()
  await dialog(page).getByLabel('Language').fill('no language')
  await dialog(page).getByRole('button', { name: 'Save' }).click()
  await dialog(page).getByRole('alert').waitFor()
  await assertAccessible(page, 'a collation')
  desk.assertQuiet()
})

testOn('sqlite', 'CO8 a change of an entity that someone else was faster with is refused', async t => {
  const service = await startDeskService(t)
  await fillArchive(service)
  const [one, other] = [await openDesk(t, service.front), await openDesk(t, service.front)]
  for (const desk of [one, other]) {
    await desk.logIn(administrator)
    await desk.open('admin/entities/letters')
  }
  const describe = async ({ page }: typeof one, text: string) => {
    await page.getByLabel('What these records are, for readers').fill(text)
    await button(page, 'Save').click()
  }
  await describe(one, 'Letters')
  await said(one.page, 'Saved.')
  other.expectRefusals()
  await describe(other, 'Other letters')
  await other.page.getByText('Someone else has changed this meanwhile.').waitFor()
  assert.equal((await service.storage.entities.all()).get('letters')?.description, 'Letters')
  await button(other.page, 'Show what is there now').click()
  await other.page.waitForFunction(() => document.querySelector('textarea')?.value === 'Letters')
  one.assertQuiet()
  other.assertQuiet()
})

testOn(
  'sqlite',
  'CO8 an item is added, described, given files and readers, withdrawn and deleted, at 360 px',
  async t => {
    const { service, desk, page } = await openArchive(t, { size: phone })
    await desk.open('admin/items')
    await button(page, 'Add an item').click()
    await dialog(page).waitFor()
    const title = '<script>alert(1)</script> \u202Eשלום'
    await page.keyboard.type(title)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: '<script>' }).waitFor()
    await settled(page)
    const uuid = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    const item = async () => service.storage.repository.item(uuid)

    await button(page, 'Add a value').click()
    await page.getByLabel('Field of line 2').selectOption({ label: 'Description' })
    await page.getByText('dc.description', { exact: true }).waitFor()
    await page.getByLabel('Value of line 2').fill('a word '.repeat(1_500))
    await page.getByLabel('Language of line 2').fill('en')
    await button(page, 'Save').click()
    await said(page, 'Saved.')
    assert.equal((await item())?.metadata['dc.description']?.[0]?.value.length, 10_500)
    await settled(page)
    await assertFits(page, 'a long value')

    await page.locator('input[type=file]').setInputFiles([
      { name: 'letter.txt', mimeType: 'text/plain', buffer: Buffer.from('Dear friend') },
      { name: 'العربية.txt', mimeType: 'text/plain', buffer: Buffer.from('more') },
    ])
    await said(page, '2 files are added.')
    await page.getByRole('row', { name: /العربية/ }).waitFor()
    await button(page, 'Delete: letter.txt').click()
    await dialog(page).getByRole('button', { name: 'Delete' }).click()
    await said(page, 'The file is deleted.')

    // By keyboard, because on a small screen a toast covers these buttons for some seconds.
    await button(page, 'Allow someone else').press('Enter')
    await page.getByLabel('Who', { exact: true }).selectOption('group')
    await page.getByRole('combobox', { name: 'Name or UUID of a group' }).fill('Readers')
    await page.getByRole('option', { name: 'Readers' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await page.getByLabel('From', { exact: true }).fill('2030-01-02')
    // What is wrong stands beside its field.
    await page.getByLabel('Until', { exact: true }).fill('2029-01-02')
    await page.getByText('This day is before the first one.').waitFor()
    assert.equal(await button(page, 'Allow it').getAttribute('aria-disabled'), 'true')
    await page.getByLabel('Until', { exact: true }).fill('')
    await button(page, 'Allow it').press('Enter')
    await page.getByText(/Read: the group Readers from 2 Jan 2030/).waitFor()
    assert.deepEqual((await item())?.readers, [{ reader: 'group:Readers', from: '2030-01-02' }])
    await button(page, 'Allow someone else').press('Enter')
    await page.getByLabel('Who', { exact: true }).selectOption('person')
    await page.getByRole('combobox', { name: 'Name, address or UUID' }).fill(administrator)
    await page.getByRole('option', { name: administrator }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await button(page, 'Allow it').press('Enter')
    await page.getByText(`Read: the person ${administrator}`).waitFor()
    assert.equal((await item())?.readers.length, 2)
    await assertAccessible(page, 'an item')

    await choose(page, 'Withdraw')
    await dialog(page).getByRole('button', { name: 'Withdraw' }).click()
    await page.getByText('withdrawn', { exact: true }).waitFor()
    assert.equal((await item())?.withdrawn, true)
    await choose(page, 'Reinstate')
    await dialog(page).getByRole('button', { name: 'Reinstate' }).click()
    await page.getByText('withdrawn', { exact: true }).waitFor({ state: 'detached' })
    await choose(page, 'Delete')
    await page.keyboard.type(uuid)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Items and files' }).waitFor()
    assert.equal(await item(), undefined)
    desk.assertQuiet()
  },
)

testOn('sqlite', 'CO8 an archive is tried first and then ingested, from the same upload', async t => {
  const { service, desk, page } = await openArchive(t)
  await desk.open('admin/ingest')
  const archive = zipOf([...itemFiles('one', 'The first'), ...itemFiles('two', 'The second')])
  await give(page, 'harvest.zip', archive, 'application/zip')
  await page.getByLabel('Who may read the items').selectOption('anonymous')
  await button(page, 'Try it').click()
  await button(page, 'Ingest for real').waitFor()
  const count = async () =>
    (await service.client().get('/api/query/v4/items?include_total=true&limit=1')).headers
  assert.equal((await count()).get('x-records'), '1', 'it was only tried')
  await takePicture(page, 'ingest-tried-1440-light')
  await assertAccessible(page, 'an ingest that was tried')
  await button(page, 'Ingest for real').click()
  // The trial is completed, too; its page gives way to that of the real ingest.
  await button(page, 'Ingest for real').waitFor({ state: 'detached' })
  await page.getByRole('main').getByText('completed').waitFor()
  assert.equal((await count()).get('x-records'), '3')
  await desk.open('admin/items?q=the+second')
  await page.getByRole('link', { name: 'The second' }).waitFor()
  desk.assertQuiet()
})
