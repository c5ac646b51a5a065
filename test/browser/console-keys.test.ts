import assert from 'node:assert/strict'
import {
  assertAccessible,
  assertFits,
  assertInWords,
  button,
  dialog,
  openArchive,
  openDesk,
  settled,
} from '../support/clients/console.ts'
import { reader } from '../support/data/archive.ts'
import { testOn } from '../support/service/engines.ts'

testOn('sqlite', 'CO4 the question mark shows the keys, and stays a letter where someone types', async t => {
  const { desk, page } = await openArchive(t, { as: reader })
  await page.keyboard.press('?')
  await page.getByRole('heading', { name: 'Keys' }).waitFor()
  await dialog(page).getByText('shows these keys').waitFor()
  await assertAccessible(page, 'the keys')
  // A dialog that is open keeps the keys.
  await page.keyboard.press('Control+k')
  assert.equal(await page.getByRole('dialog').count(), 1)
  await page.keyboard.press('Escape')
  await dialog(page).waitFor({ state: 'detached' })
  await desk.open('items')
  await page.getByRole('searchbox').press('?')
  assert.equal(await page.getByRole('searchbox').inputValue(), '?')
  assert.equal(await page.getByRole('dialog').count(), 0)
  desk.assertQuiet()
})

testOn('sqlite', 'CO4 Ctrl and K go to any page, collection, item, person and group', async t => {
  const { service, desk, page } = await openArchive(t)
  const goTo = async (text: string, name: string) => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Name of a page' }).fill(text)
    await dialog(page)
      .getByRole('option', { name })
      .filter({ hasNotText: 'Search everywhere' })
      .first()
      .waitFor()
  }
  for (const [text, name, title] of [
    ['audit', 'Audit trail', 'Audit trail'],
    ['lett', 'letters', 'letters'],
    ['bertha', 'Bertha to Câmara, Basel', 'Bertha to Câmara, Basel'],
    ['ruth@', 'ruth@example.org', 'Test Person'],
    ['Readers', 'Readers', 'Readers'],
    ['backups', 'Backups', 'Backups'],
  ] as const) {
    await goTo(text, name)
    // Arrow keys lead to the option, and Enter opens it.
    for (let step = 0; step < 20; step++) {
      const selected = await dialog(page).getByRole('option', { selected: true }).innerText()
      if (selected.includes(name) && !selected.includes('Search everywhere')) break
      await page.keyboard.press('ArrowDown')
    }
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
    await dialog(page).waitFor({ state: 'detached' })
    await settled(page)
  }
  await goTo('people', 'People')
  await assertAccessible(page, 'a search for pages')
  await assertInWords(page, 'a search for pages')
  await page.getByRole('combobox', { name: 'Name of a page' }).fill('nothing is called this')
  // What is no name is searched for.
  await dialog(page)
    .getByRole('option', { name: 'Search everywhere for “nothing is called this”', selected: true })
    .waitFor()
  desk.assertQuiet()

  // Other people find only what is open to them. On a phone, they use the button in the menu.
  const phone = await openDesk(t, service.front, { size: { width: 360, height: 740 }, theme: 'dark' })
  await phone.logIn(reader)
  await button(phone.page, 'Menu').click()
  await phone.page
    .getByRole('button', { name: /^Go to…/ })
    .last()
    .click()
  await phone.page.getByRole('combobox', { name: 'Name of a page' }).fill('e')
  await phone.page.getByRole('option', { name: 'letters' }).waitFor()
  assert.equal(await phone.page.getByRole('option', { name: 'People' }).count(), 0)
  await assertFits(phone.page, 'a search for pages on a phone')
  await assertAccessible(phone.page, 'a search for pages on a phone')
  await phone.page.getByRole('option', { name: 'Sessions' }).click()
  await phone.page.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor()
  phone.assertQuiet()
})
