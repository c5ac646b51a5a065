import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { commandEvent } from '../../src/cli/store.ts'
import {
  button,
  dialog,
  lookAt,
  openArchive,
  said,
  screen,
  settled,
  showTools,
} from '../support/clients/console.ts'
import { testOn } from '../support/service/engines.ts'

const curator = 'cora@example.org'
const sizes = [screen, { width: 390, height: 800 }]

async function open(t: TestContext, size: (typeof sizes)[number]) {
  const archive = await openArchive(t, { size, as: null })
  const { service, desk } = archive
  await service.addEperson(curator, { groups: ['Curators'] })
  await service.storage.entities.changeWriteRule('letters', 'group:Curators', commandEvent('entity.writers'))
  await desk.context.grantPermissions(['clipboard-read', 'clipboard-write'])
  await desk.logIn(curator)
  return archive
}

const cell = (page: Page, row: number, field: string) =>
  page.locator(`td[data-row="${row}"][data-field="${field}"]`)

async function setSeveral(page: Page, rows: readonly number[], field: string, value: string): Promise<void> {
  for (const row of rows) await page.getByLabel(`Choose ${row}`, { exact: true }).check()
  await button(page, 'Set a field…').click()
  await dialog(page).getByLabel('Field', { exact: true }).selectOption(field)
  await dialog(page).getByLabel(field, { exact: true }).fill(value)
  await button(dialog(page), 'Show what would change').click()
  await button(dialog(page), `Change ${rows.length} records`).click()
  await said(page, `${rows.length} records are changed.`)
}

const assertClean = (faults: readonly Error[]) => {
  if (faults.length > 0) throw new AggregateError(faults, faults.map(({ message }) => message).join('\n'))
}

for (const size of sizes) {
  testOn(
    'sqlite',
    `CO10 a row that was edited shows what was done to it since: together with others, undone, deleted, and on other pages, at ${size.width} px`,
    async t => {
      const { desk, page } = await open(t, size)
      const edit = async (row: number, value: string) => {
        await cell(page, row, 'sender').dblclick()
        await page.getByLabel('sender', { exact: true }).fill(value)
        await page.keyboard.press('Enter')
        await cell(page, row, 'sender').getByText(value, { exact: true }).waitFor()
      }
      await desk.open('entities/letters')
      await showTools(page)
      await button(page, 'Edit').click()
      await edit(1, 'Alone')
      await setSeveral(page, [1, 2], 'sender', 'Together')
      for (const row of [1, 2])
        await cell(page, row, 'sender').getByText('Together', { exact: true }).waitFor()
      await page.locator('h1').click()
      await page.keyboard.press('Control+z')
      await said(page, 'It is as it was before.')
      await cell(page, 1, 'sender').getByText('Alone', { exact: true }).waitFor()
      await cell(page, 2, 'sender').getByText('Bertha', { exact: true }).waitFor()

      // An edited row that others have changed since is shown as theirs, once one asks for it.
      await edit(1, 'Mine')
      await page
        .getByRole('link', { name: 'MS 1', exact: true })
        .or(page.getByRole('link', { name: '1', exact: true }))
        .first()
        .click()
      await page.getByRole('heading', { level: 1 }).getByText('Abel to Câmara').waitFor()
      await page.locator('dl.record').getByText('Mine', { exact: true }).waitFor()
      await showTools(page)
      await button(page, 'Edit').click()
      await page.getByLabel('sender', { exact: true }).fill('On its page')
      await button(page, 'Save').click()
      await page.locator('dl.record').getByText('On its page', { exact: true }).waitFor()
      await page.goBack()
      await cell(page, 1, 'sender').getByText('On its page', { exact: true }).waitFor()

      // Counts beside the table follow each edit.
      await showTools(page)
      await button(page, 'Facets').click()
      const facet = page.getByRole('group', { name: 'sender', exact: true })
      await facet.getByLabel(/^On its page\s*1$/).waitFor()
      if (size.width < 1_000) await page.keyboard.press('Escape')
      await edit(2, 'On its page')
      await showTools(page)
      if (size.width < 1_000) await button(page, 'Facets').click()
      await facet.getByLabel(/^On its page\s*2$/).waitFor()
      await settled(page)
      desk.assertQuiet()
    },
  )

  testOn(
    'sqlite',
    `CO10 one value is pasted into a cell, and for several cells the table says what to do instead, at ${size.width} px`,
    async t => {
      const { desk, page } = await open(t, size)
      const paste = async (text: string, row: number, field: string) => {
        await page.evaluate(value => navigator.clipboard.writeText(value), text)
        await cell(page, row, field).focus()
        await page.keyboard.press('Control+v')
      }
      await desk.open('entities/letters')
      await showTools(page)
      await button(page, 'Edit').click()
      await paste('Pasted\n', 1, 'sender')
      assert.equal(await page.getByLabel('sender', { exact: true }).inputValue(), 'Pasted')
      await page.keyboard.press('Enter')
      await said(page, 'Record 1 is changed.')
      await cell(page, 1, 'sender').getByText('Pasted', { exact: true }).waitFor()
      await paste('many', 2, 'pages')
      await page.keyboard.press('Enter')
      await page.getByText('Write a whole number, such as 1904.').waitFor()
      await page.keyboard.press('Escape')
      await paste('false', 4, 'digitised')
      await page.keyboard.press('Enter')
      await cell(page, 4, 'digitised').getByText('no', { exact: true }).waitFor()

      const before = await page.locator('tbody').innerText()
      await paste('a\tb\nc\td\n', 2, 'sender')
      await page.getByText('A cell takes one value; several were pasted, so nothing has changed.').waitFor()
      await page.getByText('Administrators can import a file with the changed records.').waitFor()
      assert.equal(await page.locator('tbody').innerText(), before)
      assertClean(await lookAt(desk, `paste-block-${size.width}`))
      desk.assertQuiet()
    },
  )
}
