import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { administrator as manager } from '../support/clients/administrator.ts'
import { button, dialog, lookAt, openArchive, phone, said, settled } from '../support/clients/console.ts'
import { list } from '../support/clients/listings.ts'
import { recordPath } from '../support/data/record-writes.ts'
import { testOn } from '../support/service/engines.ts'

const assertClean = (faults: readonly Error[]) => {
  if (faults.length > 0) throw new AggregateError(faults, faults.map(({ message }) => message).join('\n'))
}

const fieldsOf = async (client: Parameters<typeof list>[0], name: string) => {
  const all = await list<{ readonly name: string; readonly fields: readonly { readonly name: string }[] }>(
    client,
    '',
  )
  return all.find(one => one.name === name)?.fields.map(field => field.name)
}

async function openFields(page: Page): Promise<void> {
  await button(page, 'Change the fields').click()
  await page.getByText('Changes are collected here').waitFor()
}

testOn(
  'sqlite',
  'CO16 EA13 fields are added, renamed, removed and get other types together, after a check, and a restore undoes it',
  async t => {
    const { service, desk, page } = await openArchive(t)
    await desk.open('admin/entities/places')
    await openFields(page)
    await page.getByLabel('Name: country').fill('state')
    await page.getByLabel('Type: visits').selectOption('text')
    await button(page, 'Add a field').click()
    await page.getByLabel('Name: New field').fill('river')
    await page.getByLabel('Value to begin with: river').fill('unknown')
    for (const words of [
      'country becomes state',
      'visits: whole number becomes text',
      'river is added: text, in every record unknown',
    ])
      await page.getByText(words, { exact: true }).waitFor()
    assertClean(await lookAt(desk, 'change-fields'))
    await button(page, 'Check the new types').click()
    await page.getByText('All values fit their new types.').waitFor()
    await button(page, 'Make 3 changes').click()
    await page.getByText(/The fields of 5 records are changed\..*kept until/).waitFor()
    assert.deepEqual(await fieldsOf(service.client(), 'places'), ['name', 'state', 'visits', 'river'])
    const [aarhus] = await list(service.client(), 'places')
    assert.deepEqual(aarhus, { name: 'Aarhus', state: 'DK', visits: '0', river: 'unknown' })
    assertClean(await lookAt(desk, 'changed-fields'))
    await button(page, 'Undo: restore that version').click()
    await said(page, 'places has its 5 records again.')
    await page.getByText('The fields are as they were before.').waitFor()
    assert.deepEqual(await fieldsOf(service.client(), 'places'), ['name', 'country', 'visits'])
    desk.assertQuiet()
  },
)

testOn(
  'sqlite',
  'CO16 EA13 values that don’t fit their new type are shown with links to their records, and nothing changes',
  async t => {
    const { service, desk, page } = await openArchive(t, { size: phone, theme: 'dark' })
    await desk.open('admin/entities/places')
    await openFields(page)
    await page.getByLabel('Type: country').selectOption('integer')
    await page.getByLabel('Type: country').press('Enter')
    await button(page, 'Check the new types').click()
    await page.getByText('5 values can’t have the new type.').waitFor()
    await page.getByText('“DK” Aarhus').waitFor()
    assertClean(await lookAt(desk, 'misfits-360'))
    const [record] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: 'Évora' }).click(),
    ])
    await record.getByRole('heading', { level: 1, name: 'Évora' }).waitFor()
    await record.close()
    assert.deepEqual(await fieldsOf(service.client(), 'places'), ['name', 'country', 'visits'])

    // A removed field is a loss: its collection is typed.
    await button(page, 'Take back: country: text becomes whole number').click()
    await button(page, 'Remove: visits').click()
    await page.getByText('visits goes, with its values').waitFor()
    await button(page, 'Make the change').click()
    const asked = dialog(page)
    await asked.getByLabel('Type “places” to confirm').fill('place')
    await page.keyboard.press('Enter')
    assertClean(await lookAt(desk, 'remove-field-360'))
    await asked.getByLabel('Type “places” to confirm').fill('places')
    await page.keyboard.press('Enter')
    await page.getByText(/The fields of 5 records are changed/).waitFor()
    await desk.open('admin/entities/places')
    await page.getByRole('cell', { name: 'Change of fields' }).waitFor()
    assert.deepEqual(await fieldsOf(service.client(), 'places'), ['name', 'country'])
    await settled(page)
    desk.assertQuiet()
  },
)

testOn(
  'sqlite',
  'CO16 EA12 records that don’t fit a constraint are shown with links before it is declared',
  async t => {
    const { service, desk, page } = await openArchive(t)
    const declared = async () => {
      const all = await list<{ name: string; fields: { name: string; required?: true }[] }>(
        service.client(),
        '',
      )
      return all.find(({ name }) => name === 'letters')?.fields.filter(({ required }) => required).length ?? 0
    }
    await desk.open('admin/entities/letters')
    const describe = async (field: string) => {
      await page.getByRole('button', { name: `Describe: ${field}` }).click()
      await dialog(page).waitFor()
    }
    await describe('year')
    await dialog(page).getByLabel('Required').check()
    await dialog(page).getByLabel('Label').press('Enter')
    await dialog(page).getByText('43 records have no value:').waitFor()
    assert.equal(
      await dialog(page).getByRole('link', { name: '8', exact: true }).getAttribute('href'),
      '/console/entities/letters/records/8',
    )
    assertClean(await lookAt(desk, 'misfits-required'))
    assert.equal(await declared(), 0)
    await dialog(page).getByLabel('Required').uncheck()
    await dialog(page).getByLabel('Unique').check()
    await button(dialog(page), 'Save').click()
    await dialog(page).getByText('40 values are there several times:').waitFor()
    await page.keyboard.press('Escape')

    await describe('place')
    await dialog(page).getByLabel('One of these values').fill('Aarhus\nBasel\nCoimbra\nDublin')
    await button(dialog(page), 'Save').click()
    await dialog(page).getByText('60 records have values that aren’t in the list:').waitFor()
    const [listed] = await Promise.all([
      page.context().waitForEvent('page'),
      dialog(page).getByRole('link', { name: 'Évora' }).click(),
    ])
    await listed.getByText(/of 60/).first().waitFor()
    await listed.close()
    // What has another fault than records is said at its place.
    desk.expectRefusals()
    await dialog(page).getByLabel('One of these values').fill('Aarhus\nAarhus')
    await button(dialog(page), 'Save').click()
    await dialog(page).locator('.field .fault').waitFor()
    desk.assertQuiet()
  },
)

testOn('sqlite', 'CO16 opening a collection for writing says what that means', async t => {
  const { desk, page } = await openArchive(t, { size: phone })
  await desk.open('admin/entities/places')
  await page.getByText(/^Records come from imports only\./).waitFor()
  await page.getByLabel('Who may write single records').selectOption('admin')
  await page.getByText('May write: administrators only.').waitFor()
  await page.getByText(/^An import of all records replaces what was written\./).waitFor()
  assertClean(await lookAt(desk, 'open-for-writing-360'))
  await page.getByLabel('Who may write single records').selectOption('group:')
  await page.getByLabel('Name', { exact: true }).fill('Curators')
  await page.getByText('May write: the group Curators.').waitFor()
  desk.assertQuiet()
})

testOn(
  'sqlite',
  'CO16 the kept recipe is shown with its origin, saved as the file that others take, and removed',
  async t => {
    const { service, desk, page } = await openArchive(t)
    const root = await manager(service)
    const recipe = {
      delimiter: 'semicolon',
      key: ['nr'],
      fields: {
        Nr: { rename: 'nr' },
        Preis: { read: 'decimal-comma', empty: ['n/a'] },
        Themen: { read: 'list', separator: ',' },
        Intern: { leaveOut: true },
      },
    }
    const file = 'Nr;Preis;Themen;Intern\n1;1,5;a,b;x\n2;n/a;c;y\n'
    await root.imports(`/prints/import?recipe=${encodeURIComponent(JSON.stringify(recipe))}`, file, {
      'content-type': 'text/csv',
    })
    await desk.open('admin/entities/prints')
    const section = page.locator('.section').filter({ has: page.getByRole('heading', { name: 'Recipe' }) })
    await section.getByText('as number with decimal comma · "n/a" as empty').waitFor()
    await section.getByText('called nr here').waitFor()
    await section.getByText('as list (",")').waitFor()
    await section.getByText('left out').waitFor()
    await section.getByText('semicolons').waitFor()
    await section.getByRole('link', { name: /^Kept since .*: Import all records$/ }).waitFor()
    assertClean(await lookAt(desk, 'kept-recipe'))
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      button(page, 'Save it as a file').click(),
    ])
    assert.equal(saved.suggestedFilename(), 'prints.recipe.json')
    assert.deepEqual(JSON.parse(readFileSync(await saved.path(), 'utf8')), recipe)
    await button(page, 'Remove the recipe').click()
    await button(dialog(page), 'Remove').click()
    await said(page, 'The recipe is removed.')
    await section.waitFor({ state: 'detached' })
    assert.equal((await root.send('GET', '/prints')).body.recipe, undefined)
    desk.assertQuiet()
  },
)

/** Letters refer to places, and can be written. */
async function openReferences(t: TestContext, look: Parameters<typeof openArchive>[1] = {}) {
  const archive = await openArchive(t, look)
  const root = await manager(archive.service)
  const declared = await root.send('PATCH', '/letters', {
    write: 'admin',
    fields: {
      place: { references: 'places', label: 'Sent from' },
      sender: { label: 'Writer', help: 'As signed.' },
    },
  })
  assert.equal(declared.status, 200, JSON.stringify(declared.body))
  await archive.desk.open('entities/letters/records/5')
  const place = async (id: number) => {
    const [record] = await list<{ readonly place: string }>(root.client, '', {
      query: `letters { id = ${id} }`,
    })
    return record?.place
  }
  return { ...archive, place }
}

testOn(
  'sqlite',
  'CO17 a reference is chosen among the records that it can lead to, by their key or words, from the keyboard',
  async t => {
    const { desk, page, place } = await openReferences(t)
    // Its value leads to the record.
    await page.getByRole('link', { name: 'Coimbra', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Coimbra' }).waitFor()
    await page.goBack()
    await button(page, 'Edit').click()
    const box = page.getByRole('combobox', { name: 'Sent from' })
    await box.fill('dk')
    await page.getByRole('option', { name: /Aarhus/ }).waitFor()
    assert.equal(await page.locator('.picker-list > div').count(), 1)
    assertClean(await lookAt(desk, 'picker'))
    await page.keyboard.press('Escape')
    assert.equal(await page.locator('.picker-list > div').count(), 0)
    await box.fill('')
    await page.getByRole('option', { name: /Dublin/ }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    assert.equal(await box.inputValue(), 'Basel')
    await page.getByRole('link', { name: 'CH', exact: true }).waitFor()
    await page.keyboard.press('Enter')
    await said(page, 'Record 5 is changed.')
    assert.equal(await place(5), 'Basel')

    await desk.open('entities/letters')
    await button(page, 'Edit').click()
    await page.locator('td[data-row="1"][data-field="place"]').focus()
    await page.keyboard.type('ie')
    await page.getByRole('option', { name: /Dublin/ }).waitFor()
    await page.keyboard.press('Enter')
    assertClean(await lookAt(desk, 'picker-cell'))
    await page.keyboard.press('Enter')
    await said(page, 'Record 1 is changed.')
    assert.equal(await place(1), 'Dublin')

    await page.getByLabel('Choose 3', { exact: true }).check()
    await page.getByLabel('Choose 4', { exact: true }).check()
    await button(page, 'Set a field…').click()
    await dialog(page).getByLabel('Field', { exact: true }).selectOption('place')
    await dialog(page).getByRole('combobox', { name: 'Sent from' }).fill('ch')
    await dialog(page).getByRole('option', { name: /Basel/ }).click()
    await button(dialog(page), 'Show what would change').click()
    await button(dialog(page), /^Change (2 records|one record)$/).click()
    await said(page, /(2 records are|One record is) changed/)
    assert.deepEqual([await place(3), await place(4)], ['Basel', 'Basel'])
    desk.assertQuiet()
  },
)

testOn('sqlite', 'CO17 the choice of a reference fits a phone, and takes hostile words as words', async t => {
  const { desk, page, place } = await openReferences(t, { size: phone, theme: 'dark' })
  await button(page, 'More').click()
  await button(page, 'Duplicate').click()
  const box = dialog(page).getByRole('combobox', { name: 'Sent from' })
  for (const words of ['"', '\\', '*', '" } or name = "', '))', 'x'.repeat(3_000)]) {
    await box.fill(words)
    await settled(page)
  }
  await box.fill('pt')
  await dialog(page).getByRole('option', { name: /Évora/ }).waitFor()
  assertClean(await lookAt(desk, 'picker-360'))
  await dialog(page).getByRole('option', { name: /Évora/ }).click()
  await dialog(page).getByLabel('id', { exact: true }).fill('900')
  await button(dialog(page), 'Add the record').click()
  await said(page, 'Record 900 is added.')
  assert.equal(await place(900), 'Évora')
  desk.assertQuiet()
})

testOn('sqlite', 'CO17 labels stand in sorting, filters, history, conflicts and questions', async t => {
  const { service, desk, page } = await openReferences(t)
  const other = (await manager(service, 'other@example.org')).client
  const write = async (sender: string) => {
    const done = await other.request(recordPath('letters', 5), {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ sender }),
    })
    assert.equal(done.status, 200, await done.text())
  }
  await write('Zora')
  await desk.open('entities/letters/records/5')
  await page.locator('.history').getByText('Writer', { exact: true }).waitFor()
  desk.expectRefusals()
  await button(page, 'Edit').click()
  await page.getByLabel('Writer', { exact: true }).fill('Zita')
  await write('Zelda')
  await button(page, 'Save').click()
  await page.getByRole('group', { name: 'Writer' }).waitFor()
  await settled(page)
  assertClean(await lookAt(desk, 'labels-conflict'))

  await desk.open('entities/letters?sort=sender')
  await button(page, /^Sort/).click()
  await button(page, 'Don’t sort by Writer').waitFor()
  await page.keyboard.press('Escape')
  await button(page, 'Filter').click()
  await page.getByRole('option', { name: 'Sent from' }).first().waitFor({ state: 'attached' })

  const question = 'letters[place, sender] { limit 5 }'
  await desk.open(`questions?q=${encodeURIComponent(question)}`)
  await page.getByRole('columnheader', { name: 'Sent from' }).waitFor()
  await page.getByRole('columnheader', { name: 'Writer' }).waitFor()
  desk.assertQuiet()
})
