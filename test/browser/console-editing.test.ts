import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { commandEvent } from '../../src/cli/store.ts'
import { administrator as manager } from '../support/clients/administrator.ts'
import {
  administrator,
  assertFits,
  button,
  dialog,
  lookAt,
  openArchive,
  phone,
  said,
  settled,
} from '../support/clients/console.ts'
import { reader } from '../support/data/archive.ts'
import { recordPath } from '../support/data/record-writes.ts'
import { testOnOne } from '../support/service/engines.ts'
import { until } from '../support/service/waiting.ts'

const curator = 'cora@example.org'

async function open(t: TestContext, look: Parameters<typeof openArchive>[1] = {}) {
  const archive = await openArchive(t, { ...look, as: null })
  const { service, desk } = archive
  await service.addEperson(curator, { groups: ['Curators'] })
  await service.storage.entities.changeWriteRule('letters', 'group:Curators', commandEvent('entity.writers'))
  await desk.logIn(look.as ?? curator)
  const other = service.client()
  await other.login(curator)
  return { ...archive, other }
}

type Other = Awaited<ReturnType<typeof open>>['other']

const letter = async (client: Other, id: number) => {
  const response = await client.get(recordPath('letters', id))
  return response.status === 404 ? undefined : ((await response.json()) as Readonly<Record<string, unknown>>)
}

/** Another writer changes a letter. */
async function changeElsewhere(client: Other, id: number, patch: object): Promise<void> {
  const response = await client.request(recordPath('letters', id), {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify(patch),
  })
  assert.equal(response.status, 200, await response.text())
}

const cell = (page: Page, row: number, field: string) =>
  page.locator(`td[data-row="${row}"][data-field="${field}"]`)

const assertClean = (faults: readonly Error[]) => {
  if (faults.length > 0) throw new AggregateError(faults, faults.map(({ message }) => message).join('\n'))
}

testOnOne(
  'CO10 a curator edits cells in place: keys, values of each type, no value, undo, and what is wrong',
  async t => {
    const { desk, page, other } = await open(t)
    await desk.open('entities/letters')
    await button(page, 'Edit').click()
    await cell(page, 1, 'title').dblclick()
    await page.getByLabel('title', { exact: true }).fill('Abel to Câmara, Lisbon')
    await page.keyboard.press('Enter')
    await said(page, 'Record 1 is changed.')
    await cell(page, 1, 'title').getByText('Abel to Câmara, Lisbon').waitFor()
    assert.equal((await letter(other, 1))?.title, 'Abel to Câmara, Lisbon')
    // The cell has the focus again. Arrow keys, F2, Tab and Escape do the rest.
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('F2')
    await page.getByLabel('title', { exact: true }).fill('Second')
    await page.keyboard.press('Tab')
    await page.getByLabel('sender', { exact: true }).fill('Not saved')
    await page.keyboard.press('Escape')
    await cell(page, 2, 'title').getByText('Second').waitFor()
    assert.deepEqual(
      [(await letter(other, 2))?.title, (await letter(other, 2))?.sender],
      ['Second', 'Bertha'],
    )
    // What is no number stays in its editor.
    await cell(page, 2, 'year').focus()
    await page.keyboard.type('18x')
    assert.equal(await page.getByLabel('year', { exact: true }).inputValue(), '18x')
    await page.keyboard.press('Enter')
    await page.getByText('Write a whole number, such as 1904.').waitFor()
    assertClean(await lookAt(desk, 'edit-cell'))
    await page.getByLabel('year', { exact: true }).fill('1805')
    await page.keyboard.press('Enter')
    await cell(page, 2, 'year').getByText('1805').waitFor()
    await page.waitForFunction(() => document.activeElement?.tagName === 'TD')
    await page.keyboard.press('Delete')
    await cell(page, 2, 'year').getByText('–').waitFor()
    assert.equal((await letter(other, 2))?.year ?? null, null)
    await page.keyboard.press('Control+z')
    await said(page, 'It is as it was before.')
    await cell(page, 2, 'year').getByText('1805').waitFor()
    await cell(page, 3, 'digitised').dblclick()
    await page.getByLabel('digitised', { exact: true }).selectOption({ label: 'yes' })
    await page.keyboard.press('Enter')
    await cell(page, 3, 'digitised').getByText('yes').waitFor()
    assert.equal((await letter(other, 3))?.digitised, true)
    await settled(page)
    desk.assertQuiet()
  },
)

testOnOne(
  'CO10 a record on its page: each type, what is wrong, what is typed outlives a reload, add, delete, undo',
  async t => {
    const { desk, page, other } = await open(t)
    await desk.open('entities/letters/records/5')
    await button(page, 'Edit').click()
    await page.getByLabel('title', { exact: true }).fill('A title')
    await page.getByLabel('subjects', { exact: true }).fill('Rivers\nLetters')
    await button(page, 'place: no value').click()
    await page.getByLabel('pages', { exact: true }).fill('many')
    await button(page, 'Save').click()
    await page.getByText('Write a whole number, such as 1904.').waitFor()
    assertClean(await lookAt(desk, 'edit-record'))
    await page.reload()
    await settled(page)
    await button(page, 'Edit').click()
    await page.getByText('This is what you typed before.').waitFor()
    await page.getByLabel('pages', { exact: true }).fill('12345678901234567890')
    await button(page, 'Save').click()
    await said(page, 'Record 5 is changed.')
    await page.getByRole('heading', { level: 1, name: 'A title' }).waitFor()
    const text = await (await other.get(recordPath('letters', 5))).text()
    assert.match(text, /"pages":12345678901234567890/)
    const { title, place, subjects } = JSON.parse(text)
    assert.deepEqual([title, place ?? null, subjects], ['A title', null, ['Rivers', 'Letters']])
    await page.keyboard.press('Control+z')
    await said(page, 'It is as it was before.')
    await page.getByRole('heading', { level: 1, name: /Zoë to Bertha/ }).waitFor()

    await button(page, 'More').click()
    await button(page, 'Duplicate').click()
    await dialog(page).getByLabel('id', { exact: true }).fill('6')
    desk.expectRefusals()
    await button(dialog(page), 'Add the record').click()
    await dialog(page).getByText('There is a record with this key already.').waitFor()
    await dialog(page).getByLabel('id', { exact: true }).fill('5000')
    await button(dialog(page), 'Add the record').click()
    await said(page, 'Record 5000 is added.')
    await page.waitForURL('**/records/5000')
    assert.equal((await letter(other, 5000))?.sender, 'Zoë')
    await button(page, 'More').click()
    await button(page, 'Delete').click()
    await button(dialog(page), 'Delete').click()
    await said(page, 'Record 5000 is deleted.')
    assert.equal(await letter(other, 5000), undefined)
    await button(page, 'Undo').click()
    await until('the record is there again', async () => (await letter(other, 5000))?.sender === 'Zoë')
    desk.assertQuiet()
  },
)

testOnOne(
  'CO10 what another person has written meanwhile is shown side by side, and never overwritten unseen',
  async t => {
    const { desk, page, other } = await open(t, { size: phone, theme: 'dark' })
    desk.expectRefusals()
    await desk.open('entities/letters/records/7')
    await button(page, 'Edit').click()
    await page.getByLabel('title', { exact: true }).fill('Mine')
    await page.getByLabel('sender', { exact: true }).fill('My sender')
    await changeElsewhere(other, 7, { title: 'Theirs', place: 'Oslo' })
    await button(page, 'Save').click()
    await page.getByText('Someone else has changed this record meanwhile. Choose what stays.').waitFor()
    await assertFits(page, 'a conflict')
    assertClean(await lookAt(desk, 'edit-conflict-360'))
    await page
      .getByRole('group', { name: 'title' })
      .getByLabel(/Theirs/)
      .check()
    await button(page, 'Save what is chosen').click()
    await said(page, 'Record 7 is changed.')
    const { title, sender, place } = (await letter(other, 7)) ?? {}
    assert.deepEqual([title, sender, place], ['Theirs', 'My sender', 'Oslo'])
    // What was written since isn't undone.
    await changeElsewhere(other, 7, { place: 'Bergen' })
    await page.keyboard.press('Control+z')
    await said(page, 'Others have changed it since, so it stays as it is.')
    assert.equal((await letter(other, 7))?.place, 'Bergen')

    await button(page, 'Edit').click()
    await page.getByLabel('title', { exact: true }).fill('Again')
    await other.request(recordPath('letters', 7), { method: 'DELETE' })
    await button(page, 'Save').click()
    await page.getByText('Someone else has deleted this record meanwhile.').waitFor()
    await button(page, 'Add it again with your values').click()
    await said(page, 'Record 7 is added.')
    assert.equal((await letter(other, 7))?.title, 'Again')
    desk.assertQuiet()
  },
)

testOnOne(
  'CO10 several records, ticked or all that the filter finds, are changed together, deleted and undone',
  async t => {
    const { desk, page, other } = await open(t)
    desk.expectRefusals()
    await desk.open(`entities/letters?q=${encodeURIComponent('place = "Basel"')}`)
    await button(page, 'Edit').click()
    await page.getByLabel('Choose 3', { exact: true }).check()
    await page.getByLabel('Choose 8', { exact: true }).check()
    await page.getByText('2 records are chosen.').waitFor()
    await button(page, 'Set a field…').click()
    await dialog(page).getByLabel('Field', { exact: true }).selectOption('sender')
    await dialog(page).getByLabel('sender', { exact: true }).fill('Nobody')
    await button(dialog(page), 'Show what would change').click()
    await dialog(page).getByText('2 of 2 records change.').waitFor()
    assertClean(await lookAt(desk, 'edit-several'))
    assert.notEqual((await letter(other, 3))?.sender, 'Nobody')
    await button(dialog(page), 'Change 2 records').click()
    await said(page, '2 records are changed.')
    await cell(page, 3, 'sender').getByText('Nobody').waitFor()
    assert.equal((await letter(other, 8))?.sender, 'Nobody')
    // What another person writes meanwhile stays.
    await changeElsewhere(other, 8, { sender: 'Other' })
    await button(page, 'Undo').click()
    await said(page, /Others have changed one record since/)
    await cell(page, 8, 'sender').getByText('Other').waitFor()
    assert.notEqual((await letter(other, 3))?.sender, 'Nobody')
    const left = async () => ((await (await other.get('/api/query/v4/letters')).json()) as unknown[]).length

    await button(page, /Choose all 60 that the filter finds/).click()
    await button(page, 'Delete…').click()
    await dialog(page).getByText('60 records are deleted.').waitFor()
    // Another one is found meanwhile: nothing is deleted that was not shown.
    await changeElsewhere(other, 1, { place: 'Basel' })
    await button(dialog(page), 'Delete 60 records').click()
    await dialog(page).getByRole('alert').waitFor()
    assert.equal(await left(), 300)
    await changeElsewhere(other, 1, { place: 'Aarhus' })
    await button(dialog(page), 'Delete 60 records').click()
    await said(page, '60 records are deleted.')
    assert.equal(await left(), 240)
    await page.keyboard.press('Control+z')
    await until('the records are there again', async () => (await left()) === 300)
    await cell(page, 3, 'sender').waitFor()
    desk.assertQuiet()
  },
)

testOnOne('CO10 the page of a record tells those who may write it who has changed what', async t => {
  const { desk, page, other } = await open(t, { size: phone })
  await changeElsewhere(other, 9, { title: 'Once' })
  await changeElsewhere(other, 9, { title: 'Twice', year: null })
  await desk.open('entities/letters/records/9')
  await page.getByRole('heading', { name: 'What was changed' }).waitFor()
  const events = page.locator('.history > li')
  await events.first().waitFor()
  assert.equal(await events.count(), 2)
  assert.match(
    (await events.first().innerText()).replaceAll(/\s+/g, ' '),
    /Changed by cora@example.org .*Once → Twice/,
  )
  assertClean(await lookAt(desk, 'edit-history-360'))
  desk.assertQuiet()
})

testOnOne('CO10 readers see nothing of it', async t => {
  const { desk, page } = await open(t, { as: reader })
  await desk.open('entities/letters')
  assert.equal(await button(page, 'Edit').count(), 0)
  await desk.open('entities/letters/records/5')
  assert.equal(await button(page, 'Edit').count(), 0)
  assert.equal(await button(page, 'More').count(), 0)
  assert.equal(await page.getByRole('heading', { name: 'What was changed' }).count(), 0)
  desk.assertQuiet()
})

testOnOne('CO10 administrators see why records can’t be edited, and where that is changed', async t => {
  const { desk, page } = await open(t, { as: administrator })
  await desk.open('entities/places')
  await button(page, 'Edit').click()
  await dialog(page)
    .getByText(/nobody may yet/)
    .waitFor()
  assertClean(await lookAt(desk, 'edit-closed'))
  await dialog(page).getByRole('link', { name: 'Decide who may write' }).click()
  await page.getByRole('heading', { level: 1, name: 'places' }).waitFor()
  await page.waitForURL('**/admin/entities/places')
  desk.assertQuiet()
})

testOnOne(
  'CO10 a new record has the controls, the defaults and the help that are declared of its fields',
  async t => {
    const { desk, page, service, other } = await open(t)
    const root = await manager(service)
    const fields = {
      sender: { label: 'Who wrote it', help: 'As on the letter.', required: true },
      place: { oneOf: ['Aarhus', 'Basel', 'Coimbra', 'Dublin', 'Évora'], default: 'Dublin' },
    }
    const declared = await root.send('PATCH', '/letters', { fields })
    assert.equal(declared.status, 200, JSON.stringify(declared.body))
    await desk.open('entities/letters')
    await button(page, 'Edit').click()
    await button(page, 'Add a record').click()
    await dialog(page).getByLabel('id', { exact: true }).fill('900')
    await dialog(page).getByText('As on the letter.').waitFor()
    assert.equal(await dialog(page).getByLabel('place', { exact: true }).inputValue(), 'Dublin')
    await button(dialog(page), 'Add the record').click()
    await dialog(page).getByText('This field needs a value.').waitFor()
    await dialog(page).getByLabel('Who wrote it', { exact: true }).fill('Somebody')
    await dialog(page).getByLabel('place', { exact: true }).selectOption('Basel')
    assertClean(await lookAt(desk, 'edit-declared'))
    await button(dialog(page), 'Add the record').click()
    await said(page, 'Record 900 is added.')
    const { sender, place } = (await letter(other, 900)) ?? {}
    assert.deepEqual([sender, place], ['Somebody', 'Basel'])
    desk.assertQuiet()
  },
)
