import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  assertAccessible,
  assertFits,
  openArchive,
  openDesk,
  phone,
  settled,
  takePicture,
} from '../support/clients/console.ts'
import { addItem, everybody, titled } from '../support/data/repository.ts'
import { testOn } from '../support/service/engines.ts'

/** A logo whose script would change the title, if it ran. */
const logo = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 40">
  <script>parent.document.title = 'taken'</script><circle cx="20" cy="20" r="18" fill="#ffd800"/></svg>`

function logoFile(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-test-logo-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'logo.svg')
  writeFileSync(path, logo)
  return path
}

// The extremes: the lightest, the darkest, the most colorful ones, and none.
for (const color of ['#ffff00', '#000000', '#0000ff', '#ff00ff', '#00ff66', '#ffffff'])
  testOn('sqlite', `CO15 text of the color ${color} can be read, in light and dark`, async t => {
    const { service, desk, page } = await openArchive(t, {
      env: { CARREL_NAME: 'Rare Books & Sons', CARREL_LOGO: logoFile(t), CARREL_COLOR: color },
    })
    const dark = await openDesk(t, service.front, { size: phone, theme: 'dark' })
    for (const one of [desk, dark]) {
      await one.open('login')
      await one.page.getByRole('link', { name: 'Rare Books & Sons' }).first().waitFor()
      await one.open('items')
      assert.equal(await one.page.title(), 'Items · Rare Books & Sons')
      const picture = one.page.locator('.brand img').first()
      assert.ok(await picture.evaluate(image => (image as HTMLImageElement).naturalWidth > 0))
      await assertFits(one.page, `items in ${color}`)
      await assertAccessible(one.page, `items in ${color}`)
    }
    await desk.open('admin/people')
    await assertAccessible(page, `people in ${color}`)
    await takePicture(page, `own-${color.slice(1)}-1440-light`)
    desk.assertQuiet()
    dark.assertQuiet()
  })

testOn(
  'sqlite',
  'CO14 items are sorted, have thumbnails and names for what they say, and are cited',
  async t => {
    const { service, item, desk, page } = await openArchive(t)
    await addItem(service, {
      identifier: 'archive/3',
      metadata: {
        ...titled('“}, {<b>Å last letter'),
        'dc.date.issued': [{ value: '1650', language: null }],
        'dc.subject': [{ value: 'gold', language: null }],
        'local.shelf': [{ value: '7', language: null }],
      },
      readers: everybody,
      files: [],
    })
    const titles = () => page.locator('.shelf h2').allInnerTexts()
    await desk.open('items')
    const first = await titles()
    assert.ok(first.indexOf('Bertha to Câmara, Basel') < first.indexOf('“}, {<b>Å last letter'))
    const thumbnail = page.locator('.thumb img')
    await thumbnail.waitFor()
    assert.match((await thumbnail.getAttribute('src')) ?? '', /^blob:/)
    await page.getByLabel('Sorted by').selectOption('title')
    await page.waitForURL(/sort=title/)
    await settled(page)
    const sorted = await titles()
    assert.ok(sorted.indexOf('Bertha to Câmara, Basel') < sorted.indexOf('Title of archive/2'))
    await desk.open('items?sort=nothing&page=-1')
    await assertAccessible(page, 'items with thumbnails')
    await takePicture(page, 'items-thumbnails-1440-light')
    await page.getByRole('link', { name: '“}, {<b>Å last letter' }).click()
    await page.getByText('Published', { exact: true }).waitFor()
    await page.getByText('local.shelf', { exact: true }).waitFor()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const copied = async (name: string) => {
      await page.getByRole('button', { name: 'Cite' }).click()
      if (name === 'Copy as text') await assertAccessible(page, 'the menu of citations')
      await page.getByRole('button', { name }).press('Enter')
      await page.getByText('The citation is copied.').first().waitFor()
      return page.evaluate(() => navigator.clipboard.readText())
    }
    assert.match(await copied('Copy as text'), /^\(1650\)\. “}, {<b>Å last letter\. Carrel\. http/)
    assert.match(
      await copied('Copy as BibTeX'),
      /title = \{\{“\\}, \\{<b>Å last letter\}\},\n {2}year = \{1650\}/,
    )
    const [csl] = JSON.parse(await copied('Copy as CSL-JSON')) as [{ readonly title: string }]
    assert.equal(csl.title, '“}, {<b>Å last letter')
    assert.ok(item)
    desk.assertQuiet()
  },
)

testOn(
  'sqlite',
  'CO14 several items are opened or deleted at once, and a group says what it opens',
  async t => {
    const { service, desk, page } = await openArchive(t)
    for (const name of ['a', 'b', 'c'])
      await addItem(service, {
        identifier: `more/${name}`,
        metadata: titled(`More ${name}`),
        readers: everybody,
        files: [],
      })
    await service.addRecords('closed', 'id', [{ id: 1 }], 'group:Readers')
    await desk.open('admin/items?q=More&sort=title')
    await page.getByRole('checkbox', { name: 'Choose More a' }).check()
    await page.getByRole('checkbox', { name: 'Choose More b' }).press('Space')
    await page.getByText('2 items chosen').waitFor()
    await assertAccessible(page, 'chosen items')
    await page.getByRole('button', { name: 'Change who may read' }).click()
    await page.getByRole('dialog').getByLabel('Who').selectOption('a group')
    await page.getByRole('dialog').getByRole('combobox', { name: 'Name or UUID' }).fill('Readers')
    await page.getByRole('option', { name: 'Readers' }).click()
    await assertAccessible(page, 'the readers of several items')
    await page.getByRole('button', { name: 'Change 2 items' }).click()
    await page.getByText('The readers of 2 items are changed.').waitFor()
    await settled(page)
    assert.equal(await page.getByRole('cell', { name: /Readers/ }).count(), 2)
    // The page of the group lists what it opens.
    await desk.open('admin/groups')
    await page.getByRole('link', { name: 'Readers', exact: true }).click()
    await page.getByRole('link', { name: 'More b' }).waitFor()
    await page.getByRole('article').getByRole('link', { name: 'closed' }).waitFor()
    assert.equal(await page.getByRole('link', { name: 'More c' }).count(), 0)
    await assertAccessible(page, 'what a group opens')
    await desk.open('admin/items?q=More&sort=-title')
    await page.getByRole('checkbox', { name: 'Choose all items of this page' }).check()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByLabel('Type “3” to confirm').fill('3')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('3 items are deleted.').waitFor()
    await page.getByText('No items found').waitFor()
    desk.assertQuiet()
  },
)
