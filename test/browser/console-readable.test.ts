import assert from 'node:assert/strict'
import {
  assertAccessible,
  assertFits,
  button,
  dialog,
  openArchive,
  phone,
  said,
  settled,
} from '../support/clients/console.ts'
import { testOn } from '../support/service/engines.ts'
import { until } from '../support/service/waiting.ts'

const views = [
  { size: { width: 1440, height: 900 }, theme: 'light' },
  { size: phone, theme: 'dark' },
] as const

testOn('sqlite', 'CO4 sessions, findings, fields and faults are said in words of readers', async t => {
  for (const look of views) {
    const { desk, page } = await openArchive(t, look)
    await page.evaluate(() => localStorage.setItem('carrel.language', 'de'))
    await desk.open('sessions')
    await page.getByText('Chrome (Linux)', { exact: true }).waitFor()
    await page.getByText('127.0.0.0/24').first().waitFor()
    await assertAccessible(page, 'the sessions')
    await assertFits(page, 'the sessions')

    await desk.open('admin/system')
    await page.getByText('Verschlüsselung', { exact: true }).first().waitFor()
    await page.getByText(/^Keine Sicherung ist bekannt/).waitFor()
    await page.getByText(/^Was in Ordnung ist/).click()
    await assertAccessible(page, 'the findings')
    await assertFits(page, 'the findings')

    await desk.open('entities/letters?q=having count() > 3')
    await page.getByText(/^„having“ gilt für Gruppen/).waitFor()
    await desk.open('entities/letters?q=letters { year = 1790 }')
    await page.getByText(/^Das ist eine ganze Abfrage/).waitFor()
    // The browser has logged no refusal.
    desk.assertQuiet()
    desk.expectRefusals()
    await desk.open('entities/letters?q=title ~ "("')
    await page.getByText(/^Dieser reguläre Ausdruck lässt sich nicht lesen/).waitFor()
    desk.assertQuiet()
  }
})

testOn('sqlite', 'CO4 names are found whatever their accents and strokes are', async t => {
  const { service, desk, page } = await openArchive(t)
  for (const group of ['Élèves', 'Łódź'])
    await service.addEperson(`${group.length}@example.org`, { groups: [group] })
  for (const [text, kind, name] of [
    ['eleves', 'Gruppe', 'Élèves'],
    ['ÉLEVES', 'Gruppe', 'Élèves'],
    ['lodz', 'Gruppe', 'Łódź'],
    ['camara', 'Objekt', 'Bertha to Câmara, Basel'],
  ] as const) {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill(text)
    const found = dialog(page).getByRole('option', { name })
    await found.first().waitFor()
    assert.equal(await found.count(), 1, `${kind} ${text}`)
    await page.keyboard.press('Escape')
    await dialog(page).waitFor({ state: 'detached' })
  }
  // What means something in a regular expression is text here.
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('C++ (.*[')
  await dialog(page)
    .getByRole('option', { name: /^Search everywhere/ })
    .waitFor()
  // Places that the text before named stay until those of this one are known.
  await dialog(page).getByRole('option').nth(1).waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await desk.open('items?q=camara')
  await page.getByRole('link', { name: 'Bertha to Câmara, Basel' }).first().waitFor()
  desk.assertQuiet()
})

testOn(
  'sqlite',
  'Q25 CO8 a default condition is typed in PQL, and a metadata field is chosen from the list or typed',
  async t => {
    const { service, item, desk, page } = await openArchive(t)
    await desk.open('admin/entities/letters')
    const condition = page.getByLabel('Queries that name no condition get only these records')
    await condition.fill('year = 1790')
    await condition.press('Enter')
    await said(page, 'Saved.')
    const stored = async () => (await service.storage.entities.all()).get('letters')?.defaultCondition
    assert.equal(await stored(), '["=","year",1790]')
    await until(
      'the condition as it is stored',
      () => condition.inputValue(),
      shown => shown === '["=","year",1790]',
    )
    desk.expectRefusals()
    await condition.fill('yeer = 1790 limit 3')
    await condition.press('Enter')
    await page.getByText(/found "limit"/).waitFor()
    assert.equal(await stored(), '["=","year",1790]')

    await desk.open(`admin/items/${item.uuid}`)
    await button(page, 'Add a value').click()
    const field = page.getByLabel('Field of line 4')
    await field.selectOption({ label: 'Another field…' })
    await settled(page)
    // The field that takes the place of the list has the focus.
    await page.keyboard.type('dc.subject')
    await page.getByLabel('Value of line 4').fill('letters')
    await button(page, 'Save').click()
    await said(page, 'Saved.')
    const { metadata } = (await service.storage.repository.item(item.uuid)) ?? {}
    assert.equal(metadata?.['dc.subject']?.[0]?.value, 'letters')
    await page.getByLabel('Field of line 4').waitFor()
    await assertAccessible(page, 'the metadata')
  },
)
