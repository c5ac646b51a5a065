import assert from 'node:assert/strict'
import type { Locator } from 'playwright-core'
import {
  assertAccessible,
  assertFits,
  openArchive,
  openDesk,
  settled,
  showTools,
  startDeskService,
} from '../support/clients/console.ts'
import { reader } from '../support/data/archive.ts'
import { testOn } from '../support/service/engines.ts'

const boxOf = async (element: Locator) => (await element.boundingBox()) ?? assert.fail('it is not there')

testOn('sqlite', 'CO4 the count, the pages and the key of a table stay in sight', async t => {
  const { service, desk, page } = await openArchive(t, { as: reader })
  const wide = (at: number) => ({
    ...Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`column ${n}`, `value ${n} of ${at}`])),
    code: `C ${at}`,
  })
  await service.addRecords(
    'wide',
    'code',
    Array.from({ length: 60 }, (_, at) => wide(at)),
  )
  await desk.open('entities/wide')
  const key = page.getByRole('columnheader').first()
  assert.equal(await key.innerText(), 'code', 'the key is the first column, wherever it is in the records')
  const { x } = await boxOf(key)
  await page.locator('.table-frame').evaluate(frame => frame.scrollTo({ left: 2_000 }))
  assert.equal((await boxOf(key)).x, x)
  for (const path of ['entities/wide', 'entities/letters?q=year+%3E+1780&sort=title']) {
    await desk.open(path)
    for (const isFiltering of [false, true]) {
      if (isFiltering) await page.getByRole('button', { name: 'Filter' }).click()
      await settled(page)
      const { y, height } = await boxOf(page.locator('.pager'))
      assert.ok(y + height <= 900, `${path} ends at ${y + height} px`)
    }
  }
  // The panel says why É is behind Z where a text is sorted by code point.
  await page.getByRole('button', { name: 'Sort', exact: false }).first().click()
  await page.getByText('É and Ö come behind Z here.').waitFor()
  await assertAccessible(page, 'the order of a table')
  desk.assertQuiet()
})

testOn('sqlite', 'CO4 the order of a table is chosen in a panel that is whole at any width', async t => {
  const { service } = await openArchive(t, { as: null })
  for (const [width, height, theme] of [
    [1440, 900, 'light'],
    [360, 740, 'dark'],
  ] as const) {
    const desk = await openDesk(t, service.front, { size: { width, height }, theme })
    await desk.logIn(reader)
    await desk.open('entities/letters?sort=title,-catalogued')
    await showTools(desk.page)
    await desk.page.getByRole('button', { name: 'Sort 2' }).click()
    const panel = await boxOf(desk.page.locator('.menu-list'))
    assert.ok(panel.x >= 0 && panel.x + panel.width <= width)
    for (const one of await desk.page.locator('.menu-list :is(button, select)').all()) {
      const { x, width: wide } = await boxOf(one)
      assert.ok(x >= panel.x && x + wide <= panel.x + panel.width)
    }
    await assertFits(desk.page, `the order at ${width} px`)
    await assertAccessible(desk.page, `the order at ${width} px`)
    desk.assertQuiet()
  }
})

testOn('sqlite', 'CO4 the filter gives an example of the entity’s own, and a search is cleared', async t => {
  const { desk, page } = await openArchive(t)
  await desk.open('entities/places')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByRole('button', { name: 'PQL' }).click()
  await page.getByPlaceholder('country = "PT"').waitFor()
  await desk.open('admin/people')
  const search = page.getByRole('searchbox', { name: 'Name, address or UUID' })
  await search.fill('ruth')
  await page.waitForURL(/q=ruth/)
  await page.getByRole('button', { name: 'Clear the search' }).click()
  await page.waitForURL(/people$/)
  assert.equal(await search.inputValue(), '')
  assert.equal(await search.evaluate(one => one === document.activeElement), true)
  assert.equal(await page.getByRole('button', { name: 'Clear the search' }).count(), 0)
  desk.assertQuiet()
})

testOn('sqlite', 'CO4 JSON is a tree that is folded, and addresses are links', async t => {
  const service = await startDeskService(t)
  await service.addEperson(reader)
  const parts = Array.from({ length: 30 }, (_, at) => ({ name: `part ${at}`, sizes: [at, at + 1] }))
  await service.addRecords('things', 'id', [
    { id: 1, small: { colour: 'red', at: { x: 1, y: 0.25 } }, large: { parts }, empty: {}, list: ['a', 'b'] },
    {
      id: 2,
      small: { page: 'https://example.org/red' },
      large: 12345678901234567890n.toString(),
      empty: [],
      list: [],
    },
  ])
  const desk = await openDesk(t, service.front, { theme: 'dark' })
  const { page } = desk
  await desk.logIn(reader)
  await desk.open('entities/things/records/1')
  // What is short is unfolded.
  await page.getByText('0.25', { exact: true }).waitFor()
  assert.equal(await page.getByText('part 29', { exact: true }).count(), 0)
  const tree = page.locator('.tree')
  await tree.locator('summary', { hasText: '30 elements' }).click()
  await tree.locator('summary', { hasText: /^29/ }).click()
  await page.getByText('part 29', { exact: true }).waitFor()
  await assertAccessible(page, 'a tree of JSON')
  await assertFits(page, 'a tree of JSON')
  await desk.open('entities/things/records/2')
  const link = page.getByRole('link', { name: 'https://example.org/red' })
  assert.equal(await link.getAttribute('href'), 'https://example.org/red')
  desk.assertQuiet()
})
