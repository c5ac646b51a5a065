import assert from 'node:assert/strict'
import { assertAccessible, openArchive, settled } from '../support/clients/console.ts'
import { reader } from '../support/data/archive.ts'
import { testOn } from '../support/service/engines.ts'

testOn('sqlite', 'CO12 Q34 a question is completed with the fields of a related entity', async t => {
  const { desk, page } = await openArchive(t, { as: reader })
  await desk.open('questions')
  const text = page.getByLabel('Question in PQL or as an AST')
  const take = async (typed: string, option: RegExp) => {
    await text.pressSequentially(typed)
    await page.getByRole('option', { name: option }).first().waitFor()
    await page.keyboard.press('Tab')
  }
  await take('bitst', /^bitstreams/)
  await text.pressSequentially('[name, ')
  await take('items.ti', /^items\.title/)
  await text.pressSequentially('] { ')
  await take('items.ti', /^items\.title/)
  await text.pressSequentially('is not null order by ')
  await take('items.iden', /^items\.identifier/)
  await text.pressSequentially('}')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('columnheader', { name: 'items.title' }).waitFor()
  await settled(page)
  assert.match(await text.inputValue(), /^bitstreams ?\[name, items\.title ?\] \{ items\.title is not null/)
  await assertAccessible(page, 'a question about related records')
  await desk.open(`entities/bitstreams?q=${encodeURIComponent('items.title is not null')}`)
  await page.getByText(/^1–\d+ of \d+$/).waitFor()
})
