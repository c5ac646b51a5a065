import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { parseExact } from '../../src/lib/json.ts'
import { assertAccessible, openArchive, takePicture } from '../support/clients/console.ts'
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

const drawn = (page: Page) => page.locator('svg.plot > g > text, svg.plot > text').allTextContents()

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
  assert.deepEqual(texts.toSorted(), ['10', '20', '40', 'a', 'b', 'no value'])
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
  await page.locator('figcaption', { hasText: '(80 of 90 groups are drawn)' }).waitFor()
  // All of the 90 years are drawn.
  await desk.open('entities/sums/draw?by=year&and=place&as=cells')
  await page.locator('svg.plot').waitFor()
  assert.equal(await page.locator('figcaption', { hasText: 'groups are drawn' }).count(), 0)
  assert.equal(await page.locator('svg.plot rect title').count(), 90)
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
        .locator('rect')
        .evaluateAll(all =>
          all.flatMap(one => (Number(one.getAttribute('height')) > 0 ? Number(one.getAttribute('x')) : [])),
        )
      const [step, gap] = [Number(lefts[1]) - Number(lefts[0]), Number(lefts[4]) - Number(lefts[3])]
      assert.equal(lefts.length, 6)
      assert.ok(Math.abs(gap / step - 7) < 0.01, `${by}: seven years are ${gap / step} steps wide`)
    }
    assert.equal(await page.getByText('the axis leaves out').count(), 0)
    await desk.open('entities/sums/draw?by=far')
    await page.locator('figcaption', { hasText: 'the axis leaves out what has no record' }).waitFor()
    await desk.open('entities/sums/draw?by=year&and=kind')
    await plot.waitFor()
    const colours = await page
      .locator('.legend rect')
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
