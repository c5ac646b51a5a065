import assert from 'node:assert/strict'
import {
  administrator,
  assertAccessible,
  assertFits,
  type Desk,
  lookAt,
  openArchive,
  openDesk,
  settled,
  showTools,
  sizes,
  startDeskService,
  takePicture,
} from '../support/clients/console.ts'
import { fillArchive, reader } from '../support/data/archive.ts'
import { isLong } from '../support/scale.ts'
import { testOn } from '../support/service/engines.ts'

/**
 * A page in one of its states; in the long run at two sizes and in two themes. axe must find no fault,
 * nothing may be cut off, and the browser must not complain.
 */
interface Shown {
  readonly name: string
  readonly path: (item: string) => string
  readonly anonymous?: true
  /** True if other pages use the same components, so that only the long run checks this one. */
  readonly alike?: true
  /** Brings the page into the state. */
  readonly act?: (desk: Desk) => Promise<unknown>
  readonly refused?: true
}

const click = (name: string | RegExp) => async (desk: Desk) => {
  await showTools(desk.page)
  await desk.page.getByRole('button', { name }).first().click()
}

const pages: readonly Shown[] = [
  { name: 'home', path: () => '', anonymous: true },
  { name: 'login', path: () => 'login', anonymous: true },
  { name: 'forbidden', path: () => 'entities/letters', anonymous: true },
  { name: 'missing', path: () => 'nowhere/at/all', anonymous: true },
  { name: 'home-logged-in', path: () => '' },
  { name: 'table', path: () => 'entities/letters', alike: true },
  { name: 'table-sorted', path: () => 'entities/letters?sort=-year,place&page=3&size=25' },
  {
    name: 'filter-by-hand',
    path: () => `entities/letters?q=${encodeURIComponent('sender = "Zoë" and year < 1790')}`,
    act: click('Filter'),
  },
  {
    name: 'filter-wrong',
    path: () => `entities/letters?q=${encodeURIComponent('yaer < 1790')}`,
    refused: true,
  },
  { name: 'filter-nothing', path: () => `entities/letters?q=${encodeURIComponent('year = 1')}`, alike: true },
  { name: 'columns', path: () => 'entities/letters?size=25', act: click('Columns') },
  { name: 'download', path: () => 'entities/letters?size=25', act: click(/^Download/) },
  { name: 'record', path: () => 'entities/letters/records/1' },
  { name: 'record-missing', path: () => 'entities/letters/records/100000', refused: true },
  { name: 'bars', path: () => 'entities/letters/draw?by=place', alike: true },
  { name: 'lines', path: () => 'entities/letters/draw?by=year&as=lines' },
  { name: 'stacked', path: () => 'entities/letters/draw?by=catalogued&unit=year&and=place' },
  { name: 'cells', path: () => 'entities/letters/draw?by=place&and=sender&as=cells' },
  {
    name: 'facets',
    path: () => `entities/letters?facets=place,year&q=${encodeURIComponent('place = "Basel"')}`,
  },
  { name: 'questions', path: () => 'questions' },
  {
    name: 'question',
    path: () => `questions?q=${encodeURIComponent('letters[place, count()] { group by place }')}`,
  },
  { name: 'search', path: () => 'search?q=basel' },
  { name: 'items', path: () => 'items' },
  { name: 'items-none', path: () => 'items?search=nothing+like+this' },
  { name: 'item', path: item => `items/${item}` },
  { name: 'account', path: () => 'account' },
  { name: 'sessions', path: () => 'sessions' },
  { name: 'tokens', path: () => 'tokens', alike: true },
  { name: 'token-new', path: () => 'tokens', act: click('Make an access token') },
  { name: 'account-menu', path: () => '', act: openAccount },
  { name: 'tour', path: () => '', act: click('Begin the tour') },
]

async function openAccount({ page }: Desk): Promise<void> {
  const menu = page.getByRole('button', { name: 'Menu', exact: true })
  if (await menu.isVisible()) await menu.click()
  await page.locator('button:visible', { hasText: 'Test Person' }).last().click()
}

// Each page is checked at one size and in one theme. The long run has both: the first page is loaded in this
// theme, then they alternate, so that at the other size each is loaded in the other theme.
const looks = [
  ['360', 'light'],
  ['1440', 'dark'],
] as const
for (const [width, theme] of isLong ? looks : looks.slice(0, 1))
  testOn(
    'sqlite',
    `CO3 CO4 every page is accessible and whole at ${width} px${isLong ? ', light and dark' : `, ${theme}`}`,
    async t => {
      const service = await startDeskService(t)
      const { item } = await fillArchive(service)
      const nobody = await openDesk(t, service.front, { size: sizes[width], theme })
      const someone = await openDesk(t, service.front, { size: sizes[width], theme })
      await someone.logIn(reader)
      const faults: Error[] = []
      for (const { name, path, anonymous, act, refused, alike } of pages) {
        if (alike && !isLong) continue
        const desk = anonymous ? nobody : someone
        if (refused) desk.expectRefusals()
        await desk.open(path(item.uuid))
        await act?.(desk)
        faults.push(...(await lookAt(desk, `${name}-${width}`)))
      }
      // All faults are reported at once, so that one look at the log is enough.
      if (faults.length > 0) throw new AggregateError(faults, faults.map(String).join('\n\n'))
      nobody.assertQuiet()
      someone.assertQuiet()
    },
  )

if (isLong)
  testOn('sqlite', 'CO4 the pictures of docs/console.md are as the console is', async t => {
    const service = await startDeskService(t)
    await fillArchive(service)
    const desk = await openDesk(t, service.front, { size: { width: 1024, height: 560 } })
    await desk.logIn(reader)
    for (const [name, path] of [
      ['home', ''],
      [
        'filter',
        `entities/letters?q=${encodeURIComponent('sender = "Zoë" and year < 1785')}&columns=id,title,place,year`,
      ],
      ['cells', 'entities/letters/draw?by=year&and=sender&as=cells&of=sum:pages'],
    ] as const) {
      await desk.open(path)
      if (name === 'filter') await desk.page.getByRole('button', { name: 'Filter' }).click()
      await takePicture(desk.page, `docs-${name}`)
    }
    desk.assertQuiet()
    const root = await openDesk(t, service.front, { size: { width: 1024, height: 560 } })
    await root.logIn(administrator)
    await root.open('admin/people?q=ruth')
    await root.page.getByRole('link', { name: 'Test Person' }).click()
    await root.page.getByRole('heading', { name: 'What this person sees' }).waitFor()
    await settled(root.page)
    await root.page.getByRole('heading', { name: 'What this person sees' }).scrollIntoViewIfNeeded()
    await takePicture(root.page, 'docs-person')
    await root.open('admin/import?entity=places')
    await root.page.locator('input[type=file]').setInputFiles({
      name: 'places.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('name,country,visits\nOslo,NO,3\nAarhus,DK,twelve\n'),
    })
    await root.page.getByRole('heading', { name: 'What is in the file' }).waitFor()
    await root.page.getByRole('heading', { name: 'What is in the file' }).scrollIntoViewIfNeeded()
    await settled(root.page)
    await takePicture(root.page, 'docs-import')
    root.assertQuiet()
  })

if (isLong)
  testOn('sqlite', 'CO4 with forced colours and at 3840 px, every page is whole and can be read', async t => {
    const { service, item } = await openArchive(t, { as: null })
    const wide = await openDesk(t, service.front, { size: { width: 3840, height: 2160 } })
    await wide.logIn(reader)
    const forced = await openDesk(t, service.front)
    await forced.page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' })
    await forced.logIn(reader)
    for (const [name, path] of [
      ['home', ''],
      ['table', 'entities/letters?sort=-year,pages'],
      ['cells', 'entities/letters/draw?by=place&and=sender&as=cells'],
      ['bars', 'entities/letters/draw?by=place&and=sender'],
      ['item', `items/${item.uuid}`],
      ['account', 'account'],
    ] as const)
      for (const [how, desk] of [
        ['3840', wide],
        ['forced', forced],
      ] as const) {
        await desk.open(path)
        await settled(desk.page)
        await takePicture(desk.page, `${name}-${how}`)
        await assertFits(desk.page, `${name}, ${how}`)
        await assertAccessible(desk.page, `${name}, ${how}`)
      }
    await wide.open('entities/letters/draw?by=place&and=sender')
    const scale = await wide.page.locator('svg.plot').evaluate(plot => {
      const { width } = plot.getBoundingClientRect()
      const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize)
      return [rem / 16, width / (plot as SVGSVGElement).viewBox.baseVal.width]
    })
    assert.deepEqual(scale, [1.375, 1.375], 'letters are larger than on a small screen, in drawings, too')
    // With forced colors, a focused control must have an outline.
    await forced.open('entities/letters?sort=-year')
    await forced.page.getByRole('button', { name: 'Filter' }).focus()
    const outline = await forced.page.evaluate(() => getComputedStyle(document.activeElement as Element))
    assert.notEqual(outline.outlineStyle, 'none')
    wide.assertQuiet()
    forced.assertQuiet()
  })
