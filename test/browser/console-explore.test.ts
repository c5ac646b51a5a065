import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import {
  assertAccessible,
  assertFits,
  assertInWords,
  button,
  conditionOf,
  dialog,
  found,
  openArchive,
  openDesk,
  phone,
  settled,
  showTools,
  takePicture,
} from '../support/clients/console.ts'
import { lettersOf, reader } from '../support/data/archive.ts'
import { testOn } from '../support/service/engines.ts'
import { cleanEnvironment, repository, run } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'

interface Letter {
  readonly id: number
  readonly title: string
  readonly place: string
  readonly sender: string
  readonly year: number | null
  readonly pages: number
}
const letters = lettersOf(300) as readonly Letter[]
const numberOf = (fits: (letter: Letter) => boolean) => letters.filter(fits).length

/** The address of a table whose facets are those that the test is about. */
const explored = 'entities/letters?facets=place,sender,year,catalogued'
const condition = (page: Page, q: string) => page.waitForURL(url => (url.searchParams.get('q') ?? '') === q)

testOn('sqlite', 'CO11 facets count the filtered records, each without its own choice', async t => {
  const { service, desk, page } = await openArchive(t, { as: reader })
  await desk.open(explored)
  const facets = page.getByRole('region', { name: 'Facets' })
  const facet = (name: string) => facets.getByRole('group', { name, exact: true })
  const count = (name: string, value: string, n: number) =>
    facet(name)
      .getByRole('listitem')
      .filter({ hasText: new RegExp(`^${value}${n}$`) })
      .waitFor()
  await count('place', 'Basel', 60)
  await facet('place').getByLabel('Basel').check()
  await condition(page, 'place = "Basel"')
  await facet('place').getByLabel('Évora').check()
  await condition(page, 'place in ["Basel", "Évora"]')
  await found(page, 120)
  // The other places keep their counts: ticking one of them adds its records.
  await count('place', 'Dublin', 60)
  const [first] = letters.filter(({ place }) => place === 'Basel')
  await count('sender', first?.sender ?? '', 60)
  assert.ok(await facet('place').getByLabel('Basel').isChecked())
  await assertAccessible(page, 'facets')
  await assertInWords(page, 'facets')
  await takePicture(page, 'facets-1440-light')

  // Sliders work from the keyboard; what is typed is exact.
  const from = facet('year').getByRole('slider', { name: 'year from' })
  await from.focus()
  await page.keyboard.press('ArrowRight')
  await page.waitForURL(url => /year >= \d+/.test(url.searchParams.get('q') ?? ''))
  await settled(page)
  await facet('year').getByLabel('year from, typed').fill('1790')
  await page.keyboard.press('Enter')
  await condition(page, 'place in ["Basel", "Évora"] and year >= 1790')
  await facet('year').getByLabel('year to, typed').fill('1799')
  await page.keyboard.press('Enter')
  await condition(page, 'place in ["Basel", "Évora"] and year >= 1790 and year <= 1799')
  const isIn = ({ place, year }: Letter) =>
    ['Basel', 'Évora'].includes(place) && year !== null && year >= 1790 && year <= 1799
  await found(page, numberOf(isIn))

  // A histogram is brushed with the mouse, too.
  const plot = facet('catalogued').locator('.range-plot > .histogram')
  await plot.scrollIntoViewIfNeeded()
  const box = (await plot.boundingBox()) ?? assert.fail('there is no histogram')
  await page.mouse.move(box.x + box.width * 0.35, box.y + 10)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.65, box.y + 10, { steps: 3 })
  await page.mouse.up()
  await page.waitForURL(url =>
    /catalogued >= "20\d\d-\d\d-\d\d" and catalogued < "20/.test(url.searchParams.get('q') ?? ''),
  )

  // The address is the view: others see the same choice.
  const other = await openDesk(t, service.front)
  await other.logIn(reader)
  await other.page.goto(page.url())
  await settled(other.page)
  const place = other.page.getByRole('group', { name: 'place', exact: true })
  await place.waitFor()
  assert.ok(await place.getByLabel('Évora').isChecked())

  // Each choice is a chip that can be removed.
  await page.getByRole('button', { name: /^Remove catalogued/ }).click()
  await page.getByRole('button', { name: /^Remove year/ }).click()
  await condition(page, 'place in ["Basel", "Évora"]')
  await facet('place').getByLabel('Basel').uncheck()
  await facet('place').getByLabel('Évora').uncheck()
  await condition(page, '')
  await found(page, 300)

  // Which facets are shown is remembered, and can be chosen.
  await facets.getByLabel('Another facet').selectOption('pages')
  await facet('pages').waitFor()
  await facets.getByRole('button', { name: 'Hide the facet sender' }).click()
  await desk.open('entities/letters')
  await facet('pages').waitFor()
  assert.equal(await facet('sender').count(), 0)
  desk.assertQuiet()
})

testOn(
  'sqlite',
  'CO11 a value far away doesn’t press a histogram together, and stays one click away',
  async t => {
    const { service, desk, page } = await openArchive(t, { as: null })
    const day = (year: number) => `${year}-03-01T00:00:00.000Z`
    const records = Array.from({ length: 60 }, (_, id) => ({
      id,
      year: id === 7 ? 9_999 : 1_800 + ((id * 37) % 200),
      price: id === 9 ? -1e6 : id * 1.37,
      made: day(id === 11 ? 9_999 : 1_900 + id),
      huge: id === 5 ? 1e300 : id / 2,
    }))
    await service.addRecords('far', 'id', records)
    await desk.open('entities/far?facets=year,price,made,huge')
    const facet = (name: string) => page.getByRole('group', { name, exact: true })
    for (const [name, outlier, left] of [
      ['year', 'One record above 1999', 'year >= 2000'],
      ['price', 'One record below 0', 'price < 0'],
      ['made', 'One record above 1959', /^made >= "1960/],
    ] as const) {
      // Most of the bars are those of the others.
      const bars = await facet(name).locator('.range-plot li').allTextContents()
      const tall = bars.filter(text => !/ 0$/.test(text)).length
      assert.ok(tall > bars.length / 2, `${name}: ${bars.join('; ')}`)
      await facet(name).getByRole('button', { name: outlier }).click()
      await page.waitForURL(url => {
        const q = url.searchParams.get('q') ?? ''
        return typeof left === 'string' ? q === left : left.test(q)
      })
      await found(page, 1)
      await page.getByRole('button', { name: new RegExp(`^Remove ${name}`) }).click()
      await found(page, 60)
    }
    await button(page, 'About year').click()
    const panel = page.getByRole('region', { name: 'About year' })
    await panel.getByText('Different values').waitFor()
    const bars = await panel.locator('.histogram li').allTextContents()
    assert.ok(bars.filter(text => !/ 0$/.test(text)).length > bars.length / 2, bars.join('; '))
    assert.match(bars.at(-1) ?? '', /9999 1$/)
    await assertAccessible(page, 'far values')
    await takePicture(page, 'far-1440-light')
    desk.assertQuiet()
  },
)

testOn(
  'sqlite',
  'CO11 values without a text, hostile ones and those of a condition by hand are ticked',
  async t => {
    const { service, desk, page } = await openArchive(t, { as: reader })
    const hostile = ['"quoted"', "it's", '<b>bold</b>', 'a, b', '\\', 'and', '] or true', '\u202Eevil']
    await service.addRecords('odd', 'id', [
      ...hostile.map((kind, id) => ({ id, kind, n: id / 4 })),
      { id: 100, kind: null, n: null },
    ])
    await desk.open('entities/odd?facets=kind')
    const values = page.getByRole('group', { name: 'kind', exact: true }).getByRole('checkbox')
    await values.nth(hostile.length - 1).waitFor()
    assert.equal(await page.locator('.facet b').count(), 0, 'values are text')
    await page.getByRole('button', { name: 'Show one more' }).click()
    await values.nth(hostile.length).waitFor()
    for (let at = 0; at <= hostile.length; at++) {
      await values.nth(at).check()
      await found(page, at + 1)
    }
    assert.match(conditionOf(page), / or kind is null\)$/)
    await desk.open(`entities/odd?facets=kind&q=${encodeURIComponent('id < 3 or id = 100')}`)
    await found(page, 4)
    await page.getByLabel('no value').check()
    await condition(page, '(id < 3 or id = 100) and kind is null')
    await found(page, 1)
    desk.assertQuiet()
  },
)

testOn(
  'sqlite',
  'CO11 words are searched over a table and everywhere; on a phone facets are over the page',
  async t => {
    const { desk, page } = await openArchive(t, { as: reader, size: phone, theme: 'dark' })
    await desk.open('entities/letters')
    await page.keyboard.press('/')
    await page.keyboard.type('zoë basel')
    await condition(page, '* match "zoë basel"')
    await found(
      page,
      numberOf(({ title }) => title.includes('Zoë') && title.includes('Basel')),
    )
    await page.getByRole('searchbox').fill('base')
    await page.getByRole('heading', { name: 'No record fits' }).waitFor()
    await button(page, 'Search for base*').click()
    await condition(page, '* match "base*"')
    await page.getByText(/^1–50 of /).waitFor()
    await showTools(page)
    await button(page, 'Facets').click()
    await dialog(page).getByRole('group', { name: 'place', exact: true }).getByLabel('Basel').check()
    await condition(page, '* match "base*" and place = "Basel"')
    await settled(page)
    await assertAccessible(page, 'facets on a phone')
    await assertFits(page, 'facets on a phone')
    await takePicture(page, 'facets-360-dark')
    await page.keyboard.press('Escape')

    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Name of a page' }).fill('bertha câmara')
    await dialog(page)
      .getByRole('option', { name: /^Search everywhere/ })
      .click()
    await page.getByRole('heading', { level: 1, name: 'Search' }).waitFor()
    await page.getByRole('heading', { level: 2, name: 'Items' }).waitFor()
    await page.getByRole('heading', { level: 2, name: 'letters' }).waitFor()
    assert.ok((await page.locator('.hits mark', { hasText: /^Bertha$/ }).count()) > 0)
    await settled(page)
    await assertAccessible(page, 'a search')
    await assertFits(page, 'a search')
    await assertInWords(page, 'a search')
    await takePicture(page, 'search-360-dark')
    await page
      .getByRole('link', { name: /^Show all \d+/ })
      .last()
      .click()
    await condition(page, '* match "bertha câmara"')
    await desk.open(`search?q=${encodeURIComponent('-- "')}`)
    await desk.open(`search?q=${encodeURIComponent('"<b>x')}`)
    await page.getByText('0 records have these words.').waitFor()
    desk.assertQuiet()
  },
)

testOn(
  'sqlite',
  'CO12 a question is written with completion, asked, kept, shared, and becomes a view and back',
  async t => {
    const { service, desk, page } = await openArchive(t, { as: reader })
    await desk.open('questions')
    const text = page.getByLabel('Question in PQL or as an AST')
    const take = async (typed: string, option: string | RegExp) => {
      await text.pressSequentially(typed)
      await page.getByRole('option', { name: option }).first().waitFor()
      await page.keyboard.press('Tab')
    }
    await take('lett', /^letters/)
    await take('[pla', /^place/)
    await text.pressSequentially(', count()')
    await text.pressSequentially('] { ')
    await take('sen', /^sender/)
    await text.pressSequentially('= ')
    await take('"Z', /"Zoë"/)
    await take('gro', 'group by')
    await take('pla', /^place/)
    await take('ord', 'order by')
    await text.pressSequentially('count() desc }')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('columnheader', { name: 'count' }).waitFor()
    await settled(page)
    const rows = await page.getByRole('row').allInnerTexts()
    const places = new Set(letters.filter(({ sender }) => sender === 'Zoë').map(({ place }) => place))
    assert.equal(rows.length, 1 + places.size)
    await assertAccessible(page, 'a question')
    await assertInWords(page, 'a question')
    await takePicture(page, 'question-1440-light')

    await button(page, 'Keep').click()
    await dialog(page).getByLabel('Name').fill('Where Zoë wrote')
    await dialog(page).getByRole('button', { name: 'Keep' }).click()
    const address = page.url()
    const other = await openDesk(t, service.front)
    await other.logIn(reader)
    await other.page.goto(address)
    await other.page.getByRole('columnheader', { name: 'count' }).waitFor()
    await page.getByRole('link', { name: 'As a drawing' }).click()
    await page.locator('svg.plot').waitFor()

    await desk.open('questions')
    await button(page, 'Kept and recent').click()
    await button(page, 'Where Zoë wrote').click()
    await page.getByRole('columnheader', { name: 'count' }).waitFor()

    // An AST is asked as well, and its own limit holds.
    await desk.open(
      `questions?q=${encodeURIComponent('["from", "letters", ["=", "place", "Basel"], ["limit", 7]]')}`,
    )
    await page.getByText('1–7 of 7').waitFor()

    // A view becomes a question, and the question a view.
    await desk.open(
      `entities/letters?sort=-year,id&columns=id,year&q=${encodeURIComponent('place = "Basel"')}`,
    )
    await page.getByRole('link', { name: 'As a question' }).click()
    await page.getByText('1–50 of 60').waitFor()
    assert.equal(
      await text.inputValue(),
      'letters[id, year] {\n  place = "Basel"\n  order by year desc, id\n}',
    )
    await page.getByRole('link', { name: 'As a table of records' }).click()
    await page.waitForURL(/entities\/letters/)
    const { searchParams } = new URL(page.url())
    assert.deepEqual(Object.fromEntries(searchParams), {
      q: 'place = "Basel"',
      sort: '-year,id',
      columns: 'id,year',
    })
    desk.assertQuiet()
  },
)

testOn(
  'sqlite',
  'CO12 faults of a question are told at their place, without asking where that is possible',
  async t => {
    const { desk, page } = await openArchive(t, { as: reader, size: phone })
    await desk.open('questions')
    const text = page.getByLabel('Question in PQL or as an AST')
    for (const [typed, said] of [
      ['letter { }', 'There is no collection of records letter that you may read.'],
      ['letters { plce = "Basel" }', 'There is no field plce.'],
      ['letters[plce] { }', 'There is no field plce.'],
      ['letters { year = "x" }', '"x" doesn’t fit: what belongs here is a number.'],
      ['letters { place = 5 }', '5 doesn’t fit: what belongs here is a text in quotes.'],
      ['letters { digitised in [true, "no"] }', '"no" doesn’t fit: what belongs here is true or false.'],
      ['letters { catalogued > "soon" }', /"soon" doesn’t fit: what belongs here is a time/],
      ['letters { year > 5', /The question breaks off here\. What can follow: and, or/],
      ['["from", "letters", ["=", "plce", "Basel"]]', 'There is no field plce.'],
    ] as const) {
      await text.fill(typed)
      await page.keyboard.press('Control+Enter')
      await page.getByText(said).first().waitFor()
    }
    await settled(page)
    await assertAccessible(page, 'a fault of a question')
    await assertFits(page, 'a fault of a question')
    desk.assertQuiet()
  },
)

testOn('sqlite', 'CO13 every view is a request that runs as it is copied', async t => {
  const { service, item, desk, page } = await openArchive(t, { as: reader })
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  const client = service.client()
  const token = await client.login(reader)
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'node_modules/@carrel'), { recursive: true })
  symlinkSync(join(repository, 'packages/client'), join(folder, 'node_modules/@carrel/client'))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  const env = { ...cleanEnvironment(), TOKEN: token }
  const script = async (text: string, value: string) => {
    const file = join(folder, 'request.js')
    writeFileSync(file, `${text.replaceAll('$TOKEN', token)}\nconsole.log(JSON.stringify(${value}))\n`)
    const { code, stdout, stderr } = await run(process.execPath, [file], { env, cwd: folder })
    assert.equal(code, 0, `${text}\n${stderr}`)
    return JSON.parse(stdout) as unknown
  }
  const long = `id in [${Array.from({ length: 1_500 }, (_, at) => at).join(', ')}]`
  const views = [
    [
      `entities/letters?sort=-year&q=${encodeURIComponent('title ~ "(?i)basel" and sender != "it\'s $(x) `y`"')}`,
      50,
    ],
    ['entities/letters?size=25&page=2', 25],
    [`questions?q=${encodeURIComponent('letters[place, count()] {\n  group by place\n}')}`, 5],
    [`questions?q=${encodeURIComponent(`letters { ${long} }`)}`, 50],
    [`questions?q=${encodeURIComponent('["from", "letters", ["limit", 3]]')}`, 3],
    ['entities/letters/draw?by=place', 5],
    ['entities/letters/records/7', undefined],
    ['items', 2],
    [`items/${item.uuid}`, undefined],
  ] as const
  for (const [path, length] of views) {
    await desk.open(path)
    await page.getByRole('button', { name: 'As a request' }).click()
    await dialog(page).getByRole('heading', { name: 'As a request' }).waitFor()
    const copied = async (name: string) => {
      await dialog(page)
        .getByRole('button', { name: `Copy: ${name}`, exact: true })
        .click()
      return page.evaluate(() => navigator.clipboard.readText())
    }
    const all = await dialog(page).innerText()
    assert.ok(!all.includes(token) && !/eyJ/.test(all), 'there is no token in it')
    const expected = await (await client.get(pathIn(await copied('Address in the API')))).json()
    assert.equal(Array.isArray(expected) ? expected.length : undefined, length, path)
    const { code, stdout, stderr } = await run('sh', ['-c', await copied('curl')], { env })
    assert.equal(code, 0, stderr)
    assert.deepEqual(JSON.parse(stdout), expected, path)
    const value = length === undefined ? 'record' : 'records'
    assert.deepEqual(await script(await copied('fetch'), value), expected, path)
    assert.deepEqual(await script(await copied('Client (@carrel/client)'), value), expected, path)
    const ast = JSON.parse(await copied('AST')) as readonly unknown[]
    assert.equal(ast[0], 'from')
    if (path === 'items') {
      await assertAccessible(page, 'a request')
      await takePicture(page, 'request-1440-light')
    }
    await page.keyboard.press('Escape')
  }
  desk.assertQuiet()
})

const pathIn = (address: string) => {
  const { pathname, search } = new URL(address)
  return pathname + search
}
