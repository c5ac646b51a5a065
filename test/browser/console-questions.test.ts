import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import type { Page } from 'playwright-core'
import { button, conditionOf, found, openArchive, said, settled } from '../support/clients/console.ts'
import { type Artist, type Artwork, hasCollection, readTate } from '../support/data/tate.ts'
import { testOn } from '../support/service/engines.ts'
import { until } from '../support/service/waiting.ts'

/**
 * Twenty questions about the Tate collection, each asked as a person would ask it, and answered a second time
 * by plain JavaScript over the raw files.
 */
const { artworks, artists } = readTate()
const works = hasCollection ? 'the works of the Tate collection' : 'some hundred made-up works'

async function open(t: TestContext) {
  const archive = await openArchive(t, { as: null })
  await archive.service.addRecords('artworks', 'id', artworks)
  await archive.service.addRecords('artists', 'id', artists)
  return archive
}

const write = (n: number) => n.toLocaleString('en-GB')
type Rows = readonly (readonly string[])[]

/** Texts of the cells of a table, row by row. */
const cells = (page: Page, within = 'main') =>
  page
    .locator(`${within} tbody tr`)
    .evaluateAll(rows =>
      rows.map(row => [...row.querySelectorAll('td')].map(cell => (cell as HTMLElement).innerText.trim())),
    )

/** Counts by a key, the most frequent first, and equal ones by the order of their keys. */
function counted<T>(list: readonly T[], keyOf: (one: T) => string | number | null) {
  const counts = new Map<string | number | null, number>()
  for (const one of list) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1)
  const before = (a: string | number | null, b: string | number | null) =>
    a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -1 : 1
  return [...counts].toSorted(([a, m], [b, n]) => n - m || before(a, b))
}

const numbers = (list: readonly (number | null)[]) =>
  list.filter(one => one !== null).toSorted((a, b) => a - b)

/** The value at a place in the order of numbers, or between the two next to it. */
function percentile(list: readonly number[], n: number): number {
  const at = ((list.length - 1) * n) / 100
  const [low = Number.NaN, high = low] = list.slice(Math.floor(at), Math.floor(at) + 2)
  return low + (high - low) * (at - Math.floor(at))
}

const yearOf = ({ year }: Artwork) => (typeof year === 'number' ? year : undefined)
const isBetween = (year: number | null | undefined, from: number, to: number) =>
  typeof year === 'number' && year >= from && year <= to

/** True if a text, at any depth, has the word. */
function hasWord(value: unknown, word: RegExp): boolean {
  if (typeof value === 'string') return word.test(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(one => hasWord(one, word))
}
const norham = /(?<![\p{L}\p{N}])norham(?![\p{L}\p{N}])/iu
const numberOf = (fits: (work: Artwork) => boolean) => artworks.filter(fits).length

testOn(
  'sqlite',
  `CO4 CO11 ten questions about ${works} are answered by the table and what is beside it`,
  async t => {
    const { desk, page } = await open(t)
    const facet = (name: string) => page.getByRole('group', { name, exact: true })

    await t.test('1 which works speak of Norham?', async () => {
      await desk.open('')
      await page.getByRole('main').getByRole('link', { name: 'artworks' }).click()
      await page.getByRole('searchbox', { name: 'Search words' }).fill('norham')
      await page.waitForURL(/norham/)
      await found(
        page,
        numberOf(work => hasWord(work, norham)),
      )
    })

    await t.test('2 how many paintings and sculptures are there?', async () => {
      await desk.open('entities/artworks?facets=classification,artist,acquisitionYear,height,year')
      await facet('classification').getByLabel('painting', { exact: false }).check()
      await facet('classification').getByLabel('sculpture', { exact: false }).check()
      await page.waitForURL(/sculpture/)
      await found(
        page,
        numberOf(({ classification: one }) => one === 'painting' || one === 'sculpture'),
      )
    })

    await t.test('3 who made most of them?', async () => {
      const made = artworks.filter(({ classification: one }) => one === 'painting' || one === 'sculpture')
      const expected = counted(made, ({ artist }) => artist).slice(0, 3)
      const rows = expected.map(([artist, count]) => [String(artist), write(count)])
      await until(
        'the counts of the facet',
        async () => {
          const shown = await facet('artist').getByRole('listitem').allInnerTexts()
          return shown.slice(0, 3).map(text => text.trim().split(/\n+/))
        },
        seen => isDeepStrictEqual(seen, rows),
      )
    })

    await t.test('4 how many were acquired in the years that are brushed?', async () => {
      await desk.open('entities/artworks?facets=acquisitionYear')
      const plot = facet('acquisitionYear').locator('.range-plot > .histogram')
      const box = (await plot.boundingBox()) ?? assert.fail('there is no histogram')
      await page.mouse.move(box.x + box.width * 0.55, box.y + 10)
      await page.mouse.down()
      await page.mouse.move(box.x + box.width * 0.85, box.y + 10, { steps: 3 })
      await page.mouse.up()
      await page.waitForURL(/acquisitionYear\+?.*%3C%3D|acquisitionYear.*<=/)
      const [, from, to] =
        /^acquisitionYear >= (\d+) and acquisitionYear <= (\d+)$/.exec(conditionOf(page)) ?? []
      await found(
        page,
        numberOf(one => isBetween(one.acquisitionYear, Number(from), Number(to))),
      )
    })

    await t.test('5 how many are from 1840 to 1850?', async () => {
      await desk.open('entities/artworks?facets=year')
      await facet('year').getByLabel('year from, typed').fill('1840')
      await page.keyboard.press('Enter')
      await page.waitForURL(/1840/)
      await settled(page)
      await facet('year').getByLabel('year to, typed').fill('1850')
      await page.keyboard.press('Enter')
      await page.waitForURL(/1850/)
      await found(
        page,
        numberOf(one => isBetween(yearOf(one), 1840, 1850)),
      )
    })

    await t.test('6 how high are the paintings?', async () => {
      await desk.open(
        `entities/artworks?q=${encodeURIComponent('classification = "painting"')}&columns=id,title,height`,
      )
      await button(page, 'About height').click()
      const panel = page.getByRole('region', { name: 'About height' })
      await panel.getByText('Different values').waitFor()
      const heights = artworks.filter(one => one.classification === 'painting').map(({ height }) => height)
      const known = numbers(heights)
      assert.deepEqual(await panel.locator('dd').allInnerTexts(), [
        'whole number',
        ...[heights.length - known.length, new Set(known).size].map(write),
        ...[known[0], known.at(-1)].map(String),
      ])
    })

    await t.test('7 which are the widest, and of equal ones the highest?', async () => {
      await desk.open('entities/artworks?columns=id,width,height')
      const head = (name: string) => page.getByRole('columnheader', { name }).getByRole('button').first()
      // A click takes the order that is shown, so the address alone is not enough to wait for.
      const shown = (sort: string) => page.locator(`th[aria-sort="${sort}"]`).waitFor()
      await head('width').click()
      await shown('ascending')
      await head('width').click()
      await shown('descending')
      await head('height').click({ modifiers: ['Shift'] })
      await page.waitForURL(/sort=-width(,|%2C)height/)
      await button(page, 'Filter').click()
      await page.getByLabel('Field of condition 1').selectOption('width')
      await page.getByLabel('Comparison of condition 1').selectOption('not-null')
      await button(page, 'Show the records').click()
      await page.waitForURL(/not\+null|not%20null/)
      const expected = artworks
        .filter(({ width }) => width !== null)
        .toSorted(
          (a, b) =>
            (b.width ?? 0) - (a.width ?? 0) ||
            (a.height ?? Number.POSITIVE_INFINITY) - (b.height ?? Number.POSITIVE_INFINITY) ||
            a.id - b.id,
        )
        .slice(0, 20)
      const rows = expected.map(({ id, width, height }) =>
        [id, width, height].map(one => (one === null ? '–\nno value' : String(one))),
      )
      await until(
        'the widest works',
        async () => (await cells(page)).slice(0, 20),
        seen => isDeepStrictEqual(seen, rows),
      )
    })

    await t.test('8 which unicorns came after 1900? Conditions by hand', async () => {
      await desk.open('entities/artworks')
      await button(page, 'Filter').click()
      await page.getByLabel('Field of condition 1').selectOption('title')
      await page.getByLabel('Value of condition 1').fill('unicorn')
      await button(page, 'Add a condition').click()
      await page.getByLabel('Field of condition 2').selectOption('year')
      await page.getByLabel('Comparison of condition 2').selectOption('more')
      await page.getByLabel('Value of condition 2').fill('1900')
      await button(page, 'Show the records').click()
      await page.waitForURL(/unicorn/)
      await found(
        page,
        numberOf(one => /unicorn/i.test(one.title) && (yearOf(one) ?? 0) > 1900),
      )
    })

    await t.test('9 which years are neither numbers nor missing? A condition in PQL', async () => {
      await desk.open('entities/artworks')
      await button(page, 'Filter').click()
      await button(page, 'PQL').click()
      await page.getByLabel('Condition in PQL for artworks').fill('!(year > -5000) and year is not null')
      await page.keyboard.press('Escape')
      await page.keyboard.press('Control+Enter')
      await page.waitForURL(/5000/)
      await found(
        page,
        numberOf(({ year }) => typeof year === 'string'),
      )
    })

    await t.test('10 all of Norham as a file, in the order of the years', async () => {
      await desk.open(
        `entities/artworks?q=${encodeURIComponent('title ~ "Norham"')}&sort=-id&columns=id,title,artist`,
      )
      await button(page, 'Download').click()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page
          .getByRole('button', { name: /NDJSON/ })
          .first()
          .click(),
      ])
      const lines = readFileSync(await download.path(), 'utf8')
        .trim()
        .split('\n')
      assert.deepEqual(
        lines.map(line => JSON.parse(line) as object),
        artworks
          .filter(({ title }) => title.includes('Norham'))
          .toSorted((a, b) => b.id - a.id)
          .map(({ id, title, artist }) => ({ id, title, artist })),
      )
      await said(page, /./)
    })
    desk.assertQuiet()
  },
)

testOn(
  'sqlite',
  `CO12 CO5 ten questions about ${works} are answered as whole questions and drawings`,
  async t => {
    const { desk, page } = await open(t)
    await desk.open('questions')
    const text = page.getByLabel('Question in PQL or as an AST')
    /** Asks a question, and waits for an answer that fits. */
    const ask = async (typed: string, fits: (rows: Rows) => boolean) => {
      await text.fill(typed)
      await page.keyboard.press('Escape')
      await page.keyboard.press('Control+Enter')
      await page.waitForURL(url => url.searchParams.get('q') === typed)
      return until(typed, () => cells(page), fits)
    }
    const answered = (typed: string, expected: Rows) => ask(typed, rows => isDeepStrictEqual(rows, expected))
    const shown = (rows: readonly (readonly (string | number | null)[])[]) =>
      rows.map(row => row.map(one => (one === null ? '–\nno value' : String(one))))

    await t.test('11 who made the most works?', async () => {
      await answered(
        'artworks[artist, count()] { group by artist order by count() desc, artist limit 10 }',
        shown(counted(artworks, ({ artist }) => artist).slice(0, 10)),
      )
    })

    await t.test('12 how many came in each decade, also in those without any?', async () => {
      const sculptures = artworks.filter(one => one.classification === 'sculpture')
      const decades = sculptures.map(({ acquisitionYear: year }) =>
        year === null ? null : Math.floor(year / 10) * 10,
      )
      const known = numbers(decades)
      const expected: (readonly [number | null, number])[] = []
      for (let decade = known[0] ?? 0; decade <= (known.at(-1) ?? 0); decade += 10)
        expected.push([decade, known.filter(one => one === decade).length])
      const unknown = decades.length - known.length
      if (unknown > 0) expected.push([null, unknown])
      await answered(
        'artworks[acquisitionYear by 10, count()] { classification = "sculpture" group by acquisitionYear by 10 with empty }',
        shown(expected),
      )
    })

    await t.test(
      '13 how high is the one in the middle, and which height do nine of ten not reach?',
      async () => {
        const kinds = counted(artworks, one => one.classification).slice(0, 3)
        const expected = kinds.map(([kind, count]) => {
          const heights = numbers(
            artworks.filter(one => one.classification === kind).map(({ height }) => height),
          )
          return [kind, count, percentile(heights, 50), Number(percentile(heights, 90).toFixed(9))]
        })
        await answered(
          'artworks[classification, count(), median(height), percentile(height, 90)] { group by classification order by count() desc, classification limit 3 }',
          shown(expected),
        )
      },
    )

    await t.test('14 which have a contributor after whom they are made?', async () => {
      await answered(
        'artworks[count()] { contributors[*].role = "after" }',
        shown([[numberOf(one => one.contributors.some(({ role }) => role === 'after'))]]),
      )
    })

    await t.test('15 how many contributors do works have?', async () => {
      await answered(
        'artworks[length(contributors), count()] { group by length(contributors) order by length(contributors) }',
        shown(
          counted(artworks, one => one.contributors.length).toSorted(([a], [b]) => Number(a) - Number(b)),
        ),
      )
    })

    await t.test('16 which paintings are higher than they are wide?', async () => {
      const isHigh = ({ height, width }: Artwork) => height !== null && width !== null && height > width
      await answered(
        'artworks[count()] { height > width and classification = "painting" }',
        shown([[numberOf(one => isHigh(one) && one.classification === 'painting')]]),
      )
    })

    await t.test('17 how many works have a woman among their contributors?', async () => {
      const women = new Set(artists.filter(({ gender }: Artist) => gender === 'Female').map(({ id }) => id))
      await answered(
        'artworks[count()] { contributors[*].id in artists[id] { gender = "Female" } }',
        shown([[numberOf(one => one.contributors.some(({ id }) => women.has(id)))]]),
      )
    })

    await t.test(
      '18 what are ten of them, chosen by chance? The same ones when it is asked again',
      async () => {
        const question = 'artworks[id, title, acquisitionYear] { acquisitionYear > 1900 sample 10 seed 4 }'
        const rows = await ask(question, seen => seen.length === 10)
        const chosen = rows.map(([id]) => artworks.find(one => one.id === Number(id)))
        assert.equal(new Set(chosen).size, 10)
        assert.deepEqual(
          rows,
          shown(chosen.map(one => [one?.id ?? null, one?.title ?? null, one?.acquisitionYear ?? null])),
        )
        assert.ok(chosen.every(one => (one?.acquisitionYear ?? 0) > 1900))
        await answered('artworks[count()] { }', shown([[artworks.length]]))
        await answered(question, rows)
      },
    )

    await t.test(
      '19 when were the paintings made? A drawing, and the records of its highest bar',
      async () => {
        await desk.open(
          `entities/artworks/draw?q=${encodeURIComponent('classification = "painting"')}&by=acquisitionYear&step=50`,
        )
        await page.locator('svg.plot').waitFor()
        await page.getByText('The same as a table').click()
        const paintings = artworks.filter(one => one.classification === 'painting')
        const spans = counted(paintings, ({ acquisitionYear: year }) =>
          year === null ? null : Math.floor(year / 50) * 50,
        )
        const table = await cells(page, 'figure')
        assert.deepEqual(
          table.map(([, count]) => count).toSorted(),
          spans.map(([, count]) => write(count)).toSorted(),
        )
        const [from, most] = spans.find(([span]) => span !== null) ?? assert.fail('there are no paintings')
        await page
          .locator('svg.plot a.mark')
          .filter({ hasText: new RegExp(`: ${write(most)}$`) })
          .first()
          .press('Enter')
        await page.getByRole('heading', { level: 1, name: 'artworks', exact: true }).waitFor()
        assert.match(conditionOf(page), new RegExp(`classification = "painting".*acquisitionYear >= ${from}`))
        await found(page, most)
      },
    )

    await t.test('20 where does a word occur at all?', async () => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Name of a page' }).fill('norham')
      await page.getByRole('option', { name: /^Search everywhere/ }).click()
      const all = numberOf(work => hasWord(work, norham)) + artists.filter(one => hasWord(one, norham)).length
      await page.getByText(new RegExp(`^${write(all)} records? ha`)).waitFor()
    })
    desk.assertQuiet()
  },
)
