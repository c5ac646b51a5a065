import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import {
  assertAccessible,
  assertFits,
  openArchive,
  openDesk,
  phone,
  settled,
} from '../support/clients/console.ts'
import { reader } from '../support/data/archive.ts'
import { testOn } from '../support/service/engines.ts'

const heads = async (page: Page) =>
  (await page.locator('thead th').allInnerTexts()).map(text => text.trim().split('\n')[0])

const parameter = (page: Page, name: string) => new URL(page.url()).searchParams.get(name)

testOn('sqlite', 'CO4 the head of a column says what its records have, and sorts by it', async t => {
  const { desk, page } = await openArchive(t, { as: reader })
  const asked: string[] = []
  page.on('request', request => {
    if (request.url().includes('count_distinct')) asked.push(request.url())
  })
  await desk.open('entities/letters?q=year+%3E+1789+or+year+is+null')
  assert.equal(asked.length, 0, 'nothing is asked before the panel is opened')
  const panel = page.getByRole('region', { name: 'About year' })
  await page.getByRole('button', { name: 'About year' }).focus()
  await page.keyboard.press('Enter')
  await panel.getByText('Different values').waitFor()
  assert.deepEqual(await panel.locator('dd').allInnerTexts(), ['whole number', '43', '30', '1790', '1819'])
  const counts = await panel.locator('.histogram li > span:last-child').allTextContents()
  const all = /of (\d+)/.exec(await page.locator('.pager').innerText())?.[1]
  assert.equal(
    counts.map(Number).reduce((sum, one) => sum + one, 43),
    Number(all),
  )
  await assertAccessible(page, 'the panel of a column')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.waitForURL(/sort=-year/)
  await page.keyboard.press('Escape')
  await panel.waitFor({ state: 'hidden' })
  // Words, times and lists have panels, too; those of lists count what is in them.
  for (const [name, value] of [
    ['sender', 'Dürer'],
    ['catalogued', '2000'],
    ['digitised', 'yes'],
    ['subjects', /^(Abel|Bertha|Câmara|Dürer|Zoë)$/],
  ] as const) {
    await page.getByRole('button', { name: `About ${name}` }).click()
    await page
      .getByRole('region', { name: `About ${name}` })
      .getByText(value)
      .first()
      .waitFor()
    await page.keyboard.press('Escape')
  }
  desk.assertQuiet()
})

testOn('sqlite', 'CO4 columns are moved, widened and hidden, by mouse and by keyboard', async t => {
  const { service, desk, page } = await openArchive(t, { as: reader })
  await desk.open('entities/letters')
  const usual = await heads(page)
  const panelOf = async (name: string) => {
    await page.getByRole('button', { name: `About ${name}` }).click()
    return page.getByRole('region', { name: `About ${name}` })
  }
  // By keyboard, in the panel.
  await (await panelOf('sender')).getByRole('button', { name: 'Move left' }).press('Enter')
  await page.waitForURL(/columns=/)
  assert.deepEqual(await heads(page), ['id', 'shelfmark', 'sender', 'title', ...usual.slice(4)])
  await page.getByRole('slider', { name: 'Width' }).press('Home')
  await page.waitForURL(/widths=sender%3A80/)
  await page.keyboard.press('Escape')
  await (await panelOf('pages')).getByRole('button', { name: 'Hide this column' }).click()
  await page.waitForURL(url => !url.searchParams.get('columns')?.includes('pages'))
  // By mouse.
  const head = (name: string) => page.locator('thead th').filter({ hasText: new RegExp(`^${name}`) })
  await head('place').dragTo(head('shelfmark'), { sourcePosition: { x: 3, y: 3 } })
  assert.deepEqual((await heads(page)).slice(0, 4), ['id', 'place', 'shelfmark', 'sender'])
  const edge = await head('title').locator('.column-edge').boundingBox()
  assert.ok(edge)
  await page.mouse.move(edge.x + 3, edge.y + 8)
  await page.mouse.down()
  await page.mouse.move(edge.x + 103, edge.y + 8, { steps: 4 })
  await page.mouse.up()
  await page.waitForURL(/title%3A/)
  const columns = parameter(page, 'columns')
  await assertAccessible(page, 'columns of their own width')
  // This browser remembers them, and the address has them for others.
  await desk.open('entities/letters')
  await page.waitForURL(/columns=/)
  assert.equal(parameter(page, 'columns'), columns)
  assert.equal((await heads(page))[1], 'place')
  const other = await openDesk(t, service.front, { size: phone, theme: 'dark' })
  await other.logIn(reader)
  await other.open(page.url().split('/console/')[1] ?? '')
  assert.deepEqual(await heads(other.page), await heads(page))
  await other.page.getByRole('button', { name: 'About place' }).click()
  await other.page.getByRole('region', { name: 'About place' }).getByText('Coimbra').first().waitFor()
  await assertFits(other.page, 'the panel of a column at 360 px')
  await assertAccessible(other.page, 'the panel of a column at 360 px')
  await other.page.keyboard.press('Escape')
  await other.open('entities/letters')
  assert.deepEqual(await heads(other.page), usual, 'a link is not what one has chosen')
  // The usual columns are one click away, and nothing wrong in an address harms.
  await desk.open('entities/letters?columns=nothing,title,title&widths=title:-5,x,place:1e9')
  assert.deepEqual(await heads(page), ['title'])
  await page.getByRole('button', { name: /^Columns/ }).click()
  await page.getByRole('button', { name: 'Show the usual columns' }).click()
  await settled(page)
  assert.deepEqual(await heads(page), usual)
  assert.equal(parameter(page, 'widths'), null)
  desk.assertQuiet()
  other.assertQuiet()
})
