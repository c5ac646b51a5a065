import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'
import { parseExact } from '../../src/lib/json.ts'
import { assertAccessible, openArchive, settled, takePicture } from '../support/clients/console.ts'
import { testOn } from '../support/service/engines.ts'
import type { Service } from '../support/service/service.ts'

/** Adds records as NDJSON, because JavaScript can't write their numbers. */
const addSums = (service: Service, records: string) =>
  service.addRecords(
    'sums',
    'id',
    records
      .trim()
      .split('\n')
      .map(line => parseExact(line) as object),
  )

/** The texts of a drawing, without the names of its axes. */
const drawn = (page: Page) => page.locator('svg.plot text:not([font-weight])').allTextContents()

const q = (page: Page) => new URL(page.url()).searchParams.get('q')

testOn('sqlite', 'CO5 sums beyond 2^53 keep all digits in a drawing and in its table', async t => {
  const { service, desk, page } = await openArchive(t)
  await addSums(
    service,
    '{"id":10,"kind":"a","part":"x","n":9007199254740993}\n' +
      '{"id":20,"kind":"a","part":"y","n":9007199254740994}\n' +
      '{"id":40,"kind":"b","part":"x","n":-5}\n' +
      '{"id":50,"kind":"c","part":"x","n":null}\n',
  )
  for (const within of ['', '&and=part']) {
    await desk.open(`entities/sums/draw?by=kind&of=sum:n${within}`)
    await page.locator('svg.plot').waitFor()
    const texts = await drawn(page)
    for (const text of ['18,014,398,509,481,987', '-5', 'no value'])
      assert.ok(texts.includes(text), `${text} is not among ${texts.join('; ')}`)
  }
  // Negative values are on the other side of zero.
  const [zero, below] = await page
    .locator('svg.plot rect')
    .evaluateAll(all => all.map(one => Number(one.getAttribute('x'))).toSorted((a, b) => b - a))
  assert.ok((below ?? 0) <= (zero ?? 0))
  await page.getByText('The same as a table').click()
  await page.getByRole('cell', { name: '9,007,199,254,740,993' }).waitFor()
  await takePicture(page, 'sums-1440-light')
  await assertAccessible(page, 'sums')
  desk.assertQuiet()
})

testOn('sqlite', 'CO5 averages stand side by side: no sum is made of them', async t => {
  const { service, desk, page } = await openArchive(t)
  await addSums(
    service,
    '{"id":10,"kind":"a","part":"x"}\n{"id":20,"kind":"a","part":"y"}\n{"id":40,"kind":"b","part":"x"}\n',
  )
  await desk.open('entities/sums/draw?by=kind&and=part&of=avg:id')
  await page.locator('svg.plot').waitFor()
  const texts = await drawn(page)
  assert.deepEqual(texts.toSorted(), ['10', '20', '40', 'a', 'b', 'no value', 'x', 'y'])
  await desk.open('entities/sums/draw?by=kind&and=part&of=sum:id')
  await page.locator('svg.plot').waitFor()
  assert.ok((await drawn(page)).includes('30'))
  desk.assertQuiet()
})

testOn('sqlite', 'CO5 a drawing leaves out nothing without a word, and begins with no key', async t => {
  const { service, desk, page } = await openArchive(t)
  const lines = Array.from({ length: 90 }, (_, at) =>
    JSON.stringify({
      id: at,
      name: `name ${at % 45}`,
      place: at % 2 === 0 ? 'here' : 'there',
      year: 1800 + at,
    }),
  )
  await addSums(service, `${lines.join('\n')}\n`)
  await desk.open('entities/sums/draw')
  assert.equal(await page.getByLabel('Group by').inputValue(), 'place')
  await desk.open('entities/sums/draw?by=name&and=place')
  await page.locator('figcaption', { hasText: '80 of 90 groups are drawn' }).waitFor()
  // All of the 90 years are drawn.
  await desk.open('entities/sums/draw?by=year&and=place&as=cells')
  await page.locator('svg.plot').waitFor()
  assert.equal(await page.locator('figcaption', { hasText: 'groups are drawn' }).count(), 0)
  assert.equal(await page.locator('svg.plot a.mark').count(), 90)
  await page.setViewportSize({ width: 360, height: 740 })
  await desk.open('entities/sums/draw?by=name')
  const cutOff = await page.locator('svg.plot').evaluate(svg => {
    const edge = svg.getBoundingClientRect()
    return [...svg.querySelectorAll('text')]
      .filter(one => {
        const { left, right } = one.getBoundingClientRect()
        return left < edge.left - 1 || right > edge.right + 1
      })
      .map(one => one.textContent)
  })
  assert.deepEqual(cutOff, [])
  desk.assertQuiet()
})

testOn(
  'sqlite',
  'CO5 an axis of time has a place for what is missing, and colours and names tell all apart',
  async t => {
    const { service, desk, page } = await openArchive(t)
    const kinds = [
      'painting',
      'print',
      'relief',
      'book',
      'textile',
      'drawing',
      'photograph, hand-coloured and framed',
    ]
    // There are no records between 1803 and 1810.
    const lines = [1800, 1801, 1802, 1803, 1810, 1811].flatMap((year, at) =>
      kinds.map((kind, n) =>
        JSON.stringify({
          id: at * 10 + n,
          year,
          kind,
          price: 900 + at * 10 + n,
          far: year * 1_000,
          made: `${year}-0${n + 1}-05T12:00:00Z`,
        }),
      ),
    )
    await addSums(service, `${lines.join('\n')}\n`)
    const plot = page.locator('svg.plot')
    for (const by of ['year', 'made&unit=year']) {
      await desk.open(`entities/sums/draw?by=${by}`)
      await plot.waitFor()
      const lefts = await plot
        .locator('.mark > rect:not(.reach)')
        .evaluateAll(all => all.map(one => Number(one.getAttribute('x'))))
      const [step, gap] = [Number(lefts[1]) - Number(lefts[0]), Number(lefts[4]) - Number(lefts[3])]
      assert.equal(lefts.length, 6)
      assert.ok(Math.abs(gap / step - 7) < 0.01, `${by}: seven years are ${gap / step} steps wide`)
    }
    // Steps without records have their place, however many they are.
    await desk.open('entities/sums/draw?by=far&as=lines')
    await plot.waitFor()
    const middles = await plot
      .locator('.mark > circle')
      .evaluateAll(all => all.map(one => Number(one.getAttribute('cx'))))
    const [one = 0, two = 0, three = 0, four = 0, five = 0] = middles
    assert.ok(Math.abs((five - four) / (two - one) - 7) < 0.01)
    assert.ok(Math.abs(three - two - (two - one)) < 0.01)
    await desk.open('entities/sums/draw?by=year&and=kind')
    await plot.waitFor()
    const colours = await page
      .locator('svg.plot > g:first-child rect')
      .evaluateAll(all => all.map(one => getComputedStyle(one).fill))
    assert.equal(colours.length, 6)
    assert.equal(new Set(colours).size, 6)
    await desk.open('entities/sums/draw?by=kind&and=year&as=cells&of=avg:price')
    await plot.waitFor()
    const texts = await drawn(page)
    for (const kind of kinds.slice(0, -1))
      assert.ok(texts.includes(kind), `${kind} is not among ${texts.join('; ')}`)
    const strengths = await plot
      .locator('rect[fill-opacity]')
      .evaluateAll(all => all.map(one => Number(one.getAttribute('fill-opacity'))))
    assert.ok(Math.max(...strengths) > 2 * Math.min(...strengths), 'the lowest value is the faintest')
    await desk.open('entities/sums/draw?by=kind')
    await plot.waitFor()
    assert.ok((await drawn(page)).includes('photograph, hand-coloured and framed'))
    await assertAccessible(page, 'a drawing')
    desk.assertQuiet()
  },
)

testOn('sqlite', 'CO5 a mark leads to its records, by a click and by keyboard', async t => {
  const { service, desk, page } = await openArchive(t)
  await addSums(
    service,
    `${Array.from({ length: 40 }, (_, at) =>
      JSON.stringify({
        id: at,
        name: at % 2 === 0 ? '"}<b>é\\' : 'plain',
        kind: at % 9 === 0 ? null : `kind ${at % 9}`,
        year: at < 4 ? null : at < 6 ? `c. ${at}` : 1800 + (at % 5) * 3,
        made: `20${at + 10}-01-31T23:59:59Z`,
      }),
    ).join('\n')}\n`,
  )
  /** Opens the records of a mark, and returns how many they are. */
  const recordsOf = async (
    path: string,
    mark: string | RegExp,
    opened: (found: Locator) => Promise<void>,
  ) => {
    await desk.open(path)
    await opened(page.locator('svg.plot').getByRole('link', { name: mark }).first())
    await page.waitForURL(/entities\/sums\?/)
    await settled(page)
    return Number((await page.locator('.pager').innerText()).match(/of (\d+)/)?.[1])
  }
  const click = (found: Locator) => found.click({ force: true })
  assert.equal(await recordsOf('entities/sums/draw?by=name&q=id+%3C+20+or+id+%3E+29', /^"}<b>/, click), 15)
  assert.equal(q(page), '(id < 20 or id > 29) and name = "\\"}<b>é\\\\"')
  assert.equal(await recordsOf('entities/sums/draw?by=made&unit=year', /^2012/, click), 1)
  assert.equal(q(page), 'made >= "2012-01-01T00:00:00Z" and made < "2013-01-01T00:00:00Z"')
  // Among nine kinds, the four with the fewest records are drawn together.
  const together = await recordsOf('entities/sums/draw?by=name&and=kind', /^plain, others/, click)
  assert.ok(together > 0 && together < 20, `${together} records`)
  // JSON that is mostly numbers is drawn to scale; what isn't is counted.
  await desk.open('entities/sums/draw?by=year')
  await page.getByText('4 records have no value of year').waitFor()
  await page.getByText('The values of 2 records are no numbers', { exact: false }).waitFor()
  await assertAccessible(page, 'marks')
  const enter = async (found: Locator) => {
    // The marks are one stop for the Tab key; arrows go on from there.
    await page.locator('svg.plot a.mark[tabindex="0"]').focus()
    for (const key of ['ArrowRight', 'End', 'Home', 'ArrowRight', 'ArrowLeft']) await page.keyboard.press(key)
    assert.equal(
      await found.evaluate(one => one === document.activeElement),
      true,
      'the keys have moved to the mark',
    )
    await page.keyboard.press('Enter')
  }
  assert.equal(await recordsOf('entities/sums/draw?by=year', /^1800/, enter), 6)
  assert.equal(q(page), 'year = 1800')
  // The way back has the drawing as it was.
  await page.goBack()
  await page.locator('svg.plot').waitFor()
  desk.assertQuiet()
})

testOn('sqlite', 'CO5 a logarithmic scale shows small values beside large ones', async t => {
  const { service, desk, page } = await openArchive(t)
  const values = [1, 10, 100, 10_000]
  await addSums(service, values.map((n, id) => JSON.stringify({ id, n, kind: `k${n}`, less: -n })).join('\n'))
  const lengths = async () => {
    await page.locator('svg.plot').waitFor()
    return page
      .locator('.mark > rect:not(.reach)')
      .evaluateAll(all => all.map(one => Number(one.getAttribute('width'))).toSorted((a, b) => a - b))
  }
  await desk.open('entities/sums/draw?by=kind&of=sum:n')
  assert.ok(((await lengths())[1] ?? 0) < 5)
  await page.getByLabel('Scale').selectOption('logarithmic')
  await page.waitForURL(/scale=log/)
  const [one = 0, ten = 0, hundred = 0] = await lengths()
  assert.ok(one > 5 && Math.abs(hundred - ten - (ten - one)) < 1)
  // The functions are one list, and the fields another.
  await page.getByLabel('Shown is').selectOption('average')
  await page.getByLabel('Of', { exact: true }).selectOption('less')
  await page.getByText('The scale is even, because some values are below zero').waitFor()
  assert.match(page.url(), /of=avg%3Aless/)
  await assertAccessible(page, 'a drawing of values below zero')
  desk.assertQuiet()
})

testOn('sqlite', 'CO5 many numbers are drawn in ranges, and times by quarter and week', async t => {
  const { service, desk, page } = await openArchive(t)
  const lines = Array.from({ length: 600 }, (_, id) =>
    JSON.stringify({ id, height: id * 3 - 600, part: id / 8, made: new Date(Date.UTC(2020, 0, 1 + id)) }),
  )
  await addSums(service, `${lines.join('\n')}\n`)
  const marks = page.locator('svg.plot a.mark')
  await desk.open('entities/sums/draw?by=height')
  await page.getByLabel('In steps of').selectOption({ label: '50 (fits best)' })
  await marks.first().waitFor()
  assert.equal(await marks.count(), 36)
  await marks.first().click({ force: true })
  await page.waitForURL(/entities\/sums\?/)
  assert.equal(q(page), 'height >= -600 and height < -550')
  await settled(page)
  assert.match(await page.locator('.pager').innerText(), /of 17/)
  await desk.open('entities/sums/draw?by=part&step=0.5')
  await marks.first().waitFor()
  assert.equal(await marks.count(), 150)
  assert.match((await marks.nth(1).getAttribute('aria-label')) ?? '', /^0\.5 – 1: 4$/)
  await page.getByLabel('Group by').selectOption('height')
  await page.waitForURL(url => !url.searchParams.has('step'))
  await page.getByLabel('In steps of').selectOption('each value')
  await page.waitForURL(/step=each/)
  await settled(page)
  await desk.open('entities/sums/draw?by=made&unit=quarter')
  await marks.first().waitFor()
  assert.equal(await marks.count(), 7)
  await marks.nth(1).click({ force: true })
  await page.waitForURL(/entities\/sums\?/)
  assert.equal(q(page), 'made >= "2020-04-01T00:00:00Z" and made < "2020-07-01T00:00:00Z"')
  await desk.open('entities/sums/draw?by=made&unit=week&as=lines&step=-3')
  await marks.first().waitFor()
  assert.match((await marks.first().getAttribute('aria-label')) ?? '', /^2019-12-30: 5$/)
  await assertAccessible(page, 'a drawing by week')
  desk.assertQuiet()
})

testOn('sqlite', 'CO5 a value far away doesn’t press a drawing together, and is counted', async t => {
  const { service, desk, page } = await openArchive(t)
  const lines = Array.from({ length: 60 }, (_, id) =>
    JSON.stringify({
      id,
      year: id === 7 ? 9_999 : 1_800 + id,
      made: `${id === 9 ? 3_000 : 1_900 + id}-03-01T00:00:00Z`,
    }),
  )
  await addSums(service, `${lines.join('\n')}\n`)
  for (const by of ['by=year', 'by=made&unit=year']) {
    await desk.open(`entities/sums/draw?${by}`)
    await page.locator('svg.plot').waitFor()
    await page.locator('figcaption', { hasText: 'one record lies far from the others' }).waitFor()
    assert.equal(await page.locator('svg.plot a.mark').count(), 59)
    const lefts = await page
      .locator('svg.plot .mark > rect:not(.reach)')
      .evaluateAll(all => all.map(one => Number(one.getAttribute('x'))))
    assert.ok(Math.max(...lefts) - Math.min(...lefts) > 500, 'the others have the whole axis')
  }
  await page.getByText('The same as a table').click()
  await page.getByRole('link', { name: '3000' }).waitFor()
  desk.assertQuiet()
})
