import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import {
  button,
  conditionOf,
  found,
  lookAt,
  openArchive,
  screen,
  settled,
  showTools,
} from '../support/clients/console.ts'
import { testOn } from '../support/service/engines.ts'

const sizes = [screen, { width: 390, height: 800 }]

/** Works whose years are numbers, texts or missing, with tags and with lists of objects. */
const works = Array.from({ length: 60 }, (_, at) => ({
  id: at + 1,
  year: at < 5 ? null : at < 8 ? String(1_900 + at) : 1_850 + at,
  mark: [1, '1', 'one', null, true][at % 5],
  tags: at % 6 === 0 ? null : ['red', ...(at % 2 === 0 ? ['blue', 'red'] : []), `t${at % 3}`],
  makers: [{ name: `maker ${at % 4}` }],
}))

async function open(t: TestContext, size: (typeof sizes)[number]) {
  const archive = await openArchive(t, { size, as: null })
  await archive.service.addRecords('works', 'id', works)
  const { page } = archive
  const facet = (name: string) => page.getByRole('group', { name, exact: true })
  const show = async (path: string) => {
    await archive.desk.open(path)
    await showTools(page)
    if (size.width < 1_000) await button(page, 'Facets').click()
    await settled(page)
  }
  return { ...archive, facet, show }
}

const assertClean = (faults: readonly Error[]) => {
  if (faults.length > 0) throw new AggregateError(faults, faults.map(({ message }) => message).join('\n'))
}

for (const size of sizes) {
  testOn(
    'sqlite',
    `CO11 a facet counts as without a value the records that have none, and values of another type as such, at ${size.width} px`,
    async t => {
      const { desk, page, facet, show } = await open(t, size)
      await show('entities/works?facets=year,mark')
      await facet('year').getByText('5 records have no value here.').waitFor()
      await facet('year').getByText('3 records have values of another type here.').waitFor()
      for (const name of [/^1\s*12$/, /^"1"\s*12$/, /^one\s*12$/, /^yes\s*12$/, /^no value\s*12$/])
        assert.equal(await facet('mark').getByLabel(name).count(), 1, String(name))
      assertClean(await lookAt(desk, `facet-types-${size.width}`))
      await facet('mark').getByLabel(/^"1"/).check()
      await page.waitForURL(url => url.searchParams.get('q') === 'mark = "1"')
      await found(page, 12)
      desk.assertQuiet()
    },
  )

  testOn(
    'sqlite',
    `CO11 the texts of a list are a facet, counted once for each record, and a field that can be none is named, at ${size.width} px`,
    async t => {
      const { desk, page, facet, show } = await open(t, size)
      await show('entities/works?facets=tags,makers,id,nothing')
      await page.getByText(/^Not shown as a facet: makers, id, nothing\./).waitFor()
      assert.equal(await facet('makers').count(), 0)
      const has = (tag: string) => works.filter(({ tags }) => tags?.includes(tag)).length
      for (const tag of ['red', 'blue', 't0', 't1', 't2'])
        assert.equal(
          await facet('tags')
            .getByLabel(new RegExp(`^${tag}\\s*${has(tag)}$`))
            .count(),
          1,
          tag,
        )
      assert.equal(
        await facet('tags')
          .getByLabel(/^no value\s*10$/)
          .count(),
        1,
      )
      assertClean(await lookAt(desk, `facet-lists-${size.width}`))
      await facet('tags').getByLabel(/^blue/).check()
      await page.waitForURL(url => url.searchParams.get('q') === 'tags = "blue"')
      await found(page, has('blue'))
      assert.equal(conditionOf(page), 'tags = "blue"')
      const options = await page.getByLabel('Another facet').locator('option').allInnerTexts()
      assert.ok(!options.includes('makers'), options.join())
      desk.assertQuiet()
    },
  )
}
