import assert, { AssertionError } from 'node:assert/strict'
import { assertCount } from '../support/clients/browser.ts'
import {
  button,
  conditionOf,
  type Desk,
  dialog,
  found,
  lookAt,
  openArchive,
  openDesk,
  said,
  screen,
  settled,
  showTools,
} from '../support/clients/console.ts'
import { list } from '../support/clients/listings.ts'
import { putRecord } from '../support/data/record-writes.ts'
import { testOn } from '../support/service/engines.ts'
import { asTerminal, cleanEnvironment, entry, run, serve } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'

/** A small and a large screen, each in one of the themes; the long run sees each page in both. */
const looks = [
  { size: screen, theme: 'light' },
  { size: { width: 360, height: 800 }, theme: 'dark' },
] as const
type Look = (typeof looks)[number]

/** Looks at the pages that a journey passes, and reports what is wrong with them at its end. */
function witness(desk: Desk, who: string, { size }: Look) {
  const faults: Error[] = []
  return {
    faults,
    see: async (what: string) => {
      await settled(desk.page)
      faults.push(...(await lookAt(desk, `${who}-${what}-${size.width}`)))
    },
    assertClean: () => {
      desk.assertQuiet()
      if (faults.length > 0)
        throw new AssertionError({ message: faults.map(({ message }) => message).join('\n') })
    },
  }
}

const write = (n: number) => n.toLocaleString('en-GB')

interface Letter {
  readonly title: string
  readonly sender: string
  readonly language: string | null
  readonly year: number | null
}

for (const look of looks)
  testOn(
    'sqlite',
    `L11 CO6 CO11 CO12 CO13 an explorer goes from the first page to a drawing that others see and programs ask for, at ${look.size.width} px`,
    async t => {
      const served = await serve(t, temporaryFolder(t), {
        args: ['--demo'],
        program: [process.execPath, '--import', asTerminal('stderr'), entry],
      })
      await served.said(/^README\.md says/m)
      const [link = ''] = /http:\S+#link=\S+/.exec(served.output.stderr) ?? []
      const { origin } = new URL(link)
      const letters = (await (await fetch(`${origin}/api/query/v4/letters`)).json()) as readonly Letter[]
      const desk = await openDesk(t, origin, look)
      const { page, context } = desk
      const { see, faults, assertClean } = witness(desk, 'explorer', look)
      const isWide = look.size.width > 1_000
      await context.grantPermissions(['clipboard-read', 'clipboard-write'])

      await t.test('the first page shows what is open to everybody', async () => {
        await desk.open('')
        await page.getByRole('main').getByText('10,000').waitFor()
        assert.equal(await page.getByRole('link', { name: 'appraisals' }).count(), 0)
        await see('overview')
      })

      await t.test('words are searched in everything, then in the letters', async () => {
        await page.keyboard.press('/')
        await page.getByRole('combobox', { name: 'Name of a page' }).fill('zoë leiden')
        await dialog(page)
          .getByRole('option', { name: /^Search everywhere/ })
          .click()
        await page.getByRole('heading', { level: 2, name: 'letters' }).waitFor()
        await see('search')
        await page
          .getByRole('link', { name: /^Show all [\d,]+/ })
          .last()
          .click()
        await page.getByRole('heading', { level: 1, name: 'letters' }).waitFor()
        assert.equal(conditionOf(page), '* match "zoë leiden"')
        await page.getByText(/^1–50 of [\d,]+$/).waitFor()
        await see('found')
      })

      /** The letters that the facets leave. */
      let chosen: readonly Letter[] = []
      await t.test('facets and a histogram narrow them down', async () => {
        await page
          .getByRole('button', { name: /^Remove / })
          .first()
          .click()
        await found(page, letters.length)
        await showTools(page)
        await button(page, 'Facets').click()
        const facet = (name: string) => page.getByRole('group', { name, exact: true })
        await facet('language').getByLabel('fr', { exact: false }).first().check()
        await found(page, letters.filter(({ language }) => language === 'fr').length)
        if (isWide) {
          const plot = facet('year').locator('.range-plot > .histogram')
          await plot.scrollIntoViewIfNeeded()
          const box = (await plot.boundingBox()) ?? assert.fail('there is no histogram')
          await page.mouse.move(box.x + box.width * 0.3, box.y + 10)
          await page.mouse.down()
          await page.mouse.move(box.x + box.width * 0.6, box.y + 10, { steps: 3 })
          await page.mouse.up()
        } else {
          await facet('year').getByLabel('year from, typed').fill('1820')
          await page.keyboard.press('Enter')
          await page.waitForURL(/1820/)
          await settled(page)
          await facet('year').getByLabel('year to, typed').fill('1840')
          await page.keyboard.press('Enter')
        }
        await page.waitForURL(url => /year <= \d+$/.test(url.searchParams.get('q') ?? ''))
        const [, from, to] =
          /^language = "fr" and year >= (\d+) and year <= (\d+)$/.exec(conditionOf(page)) ?? []
        assert.ok(Number(from) < Number(to), conditionOf(page))
        chosen = letters.filter(
          ({ language, year }) =>
            language === 'fr' && year !== null && year >= Number(from) && year <= Number(to),
        )
        await found(page, chosen.length)
        await see('facets')
        if (!isWide) await page.keyboard.press('Escape')
      })

      await t.test('the view becomes a question, and the question a drawing', async () => {
        const condition = conditionOf(page)
        await showTools(page)
        await page.getByRole('link', { name: 'As a question' }).click()
        await page.getByRole('heading', { level: 1, name: 'Questions' }).waitFor()
        await found(page, chosen.length)
        const text = page.getByLabel('Question in PQL or as an AST')
        await text.fill(`letters[sender, count()] { ${condition} group by sender }`)
        await page.keyboard.press('Escape')
        await page.keyboard.press('Control+Enter')
        await found(page, new Set(chosen.map(({ sender }) => sender)).size)
        await see('question')
        await page.getByRole('link', { name: 'As a drawing' }).click()
        await page.locator('svg.plot a.mark').first().waitFor()
        await see('drawing')
        const mark = page.locator('svg.plot a.mark').first()
        const [, sender = '', count] =
          /^(.+): ([\d,]+)$/.exec((await mark.getAttribute('aria-label')) ?? '') ?? []
        assert.equal(count, write(chosen.filter(one => one.sender === sender).length))
        await mark.press('Enter')
        await found(page, Number(count.replaceAll(',', '')))
        chosen = chosen.filter(one => one.sender === sender)
      })

      await t.test(
        'others see the same at its address, and a program gets it by the copied request',
        async () => {
          const other = await openDesk(t, origin, look)
          await other.page.goto(page.url())
          await found(other.page, chosen.length)
          await showTools(page)
          await button(page, 'As a request').click()
          await see('request')
          await button(dialog(page), 'Copy: curl').click()
          const curl = await page.evaluate(() => navigator.clipboard.readText())
          const { code, stdout, stderr } = await run('sh', ['-c', curl], { env: cleanEnvironment() })
          assert.equal(code, 0, stderr)
          const titles = (JSON.parse(stdout) as readonly Letter[]).map(({ title }) => title)
          assert.deepEqual(
            titles,
            chosen.slice(0, 50).map(({ title }) => title),
          )
          await page.keyboard.press('Escape')
          other.assertQuiet()
        },
      )

      await t.test('the link on the terminal logs in once', async () => {
        await page.goto(link)
        await page.getByRole('main').getByRole('link', { name: 'appraisals' }).first().waitFor()
        assert.ok(!page.url().includes('link='))
        await see('logged-in')
        await page.goBack()
        assert.ok(!page.url().includes('link='), 'nor in the history')
        const other = await openDesk(t, origin, look)
        await other.page.goto(link)
        await other.page.getByText('This link has been used').waitFor()
        await assertCount(other.page.getByLabel('Password', { exact: true }), 1)
        faults.push(...(await lookAt(other, `explorer-used-link-${look.size.width}`)))
      })
      assertClean()
    },
  )

const curator = 'cora@example.org'
const prints = (count: number, price: (at: number) => string) =>
  [
    'Nr;Title;Price;Place',
    ...Array.from(
      { length: count },
      (_, at) => `${at + 1};Print ${at + 1};${price(at)};${at % 4 === 0 ? 'Basel' : 'Oslo'}`,
    ),
  ].join('\n')

for (const look of looks)
  testOn(
    'sqlite',
    `CO8 CO10 a curator repairs an import, edits, undoes, meets a conflict and restores the version before, at ${look.size.width} px`,
    async t => {
      const { service, desk, page } = await openArchive(t, { ...look, as: null })
      await service.addEperson(curator, { admin: true, groups: ['Curators'] })
      const other = service.client()
      await other.login(curator)
      const { see, assertClean } = witness(desk, 'curator', look)
      const records = () =>
        list<Readonly<Record<string, unknown>>>(service.client(), 'prints', { order_by: [{ field: 'Nr' }] })
      const recordOf = async (nr: number) => (await records()).find(({ Nr }) => Nr === nr)
      const give = (name: string, content: string) =>
        page
          .locator('input[type=file]')
          .first()
          .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(content) })
      const checked = () => page.locator('.section.old').waitFor({ state: 'detached' })
      const cell = (nr: number, field: string) => page.locator(`td[data-row="${nr}"][data-field="${field}"]`)
      // Conflicts are answered with 412, which browsers log.
      desk.expectRefusals()

      await t.test('logs in, and imports a file that one offer repairs', async () => {
        await desk.logIn(curator)
        await desk.open('admin/import')
        await give(
          'prints.csv',
          prints(40, at => (at === 5 ? 'n/a' : `${at},50`)),
        )
        await button(page, 'Read as number with decimal comma, “n/a” as empty').click()
        await checked()
        await page.getByLabel('Name of the collection').fill('prints')
        await page.getByLabel('Who may read').selectOption('anonymous')
        await page
          .getByText(/^40 records/)
          .first()
          .waitFor()
        await see('import')
        await button(page, 'Import as prints').click()
        await page.locator('main').getByText('completed').waitFor()
        assert.deepEqual((await records())[1], { Nr: 2, Title: 'Print 2', Price: 1.5, Place: 'Oslo' })
      })

      await t.test('sees what the next file changes before it replaces the records', async () => {
        await desk.open('admin/import?entity=prints')
        await give(
          'prints-2.csv',
          prints(30, at => (at === 2 ? '99,00' : at === 5 ? 'n/a' : `${at},50`)),
        )
        await page
          .getByText('The file is read by the recipe that prints has from the import before.')
          .waitFor()
        await page.getByText('10 of 40 records go; there will be 30.').waitFor()
        await see('effect')
        await button(page, 'Import as prints').click()
        await dialog(page).getByLabel('Type “prints” to confirm').fill('prints')
        await button(dialog(page), 'Import as prints').click()
        await page.locator('main').getByText('completed').waitFor()
        assert.equal((await recordOf(3))?.Price, 99)
      })

      await t.test('opens the collection for Curators, edits in place, and undoes', async () => {
        await desk.open('admin/entities/prints')
        await page.getByLabel('Who may write single records').selectOption('group:')
        await page.locator('.rule input').fill('Curators')
        await see('collection')
        await button(page, 'Save').first().click()
        await said(page, 'Saved')
        await desk.open('entities/prints')
        await showTools(page)
        await button(page, 'Edit').click()
        await cell(4, 'Title').dblclick()
        await page.getByLabel('Title', { exact: true }).fill('The fourth print')
        await page.keyboard.press('Enter')
        await said(page, 'Record 4 is changed.')
        assert.equal((await recordOf(4))?.Title, 'The fourth print')
        await see('edit')
        await page.keyboard.press('Control+z')
        await said(page, 'It is as it was before.')
        assert.equal((await recordOf(4))?.Title, 'Print 4')
      })

      await t.test('changes several at once, and sees first which', async () => {
        await page.getByLabel('Choose 6', { exact: true }).check()
        await page.getByLabel('Choose 7', { exact: true }).check()
        await button(page, 'Set a field…').click()
        await dialog(page).getByLabel('Field', { exact: true }).selectOption('Place')
        await dialog(page).getByLabel('Place', { exact: true }).fill('Bergen')
        await button(dialog(page), 'Show what would change').click()
        await dialog(page).getByText('2 of 2 records change.').waitFor()
        assert.equal((await recordOf(6))?.Place, 'Oslo')
        await see('several')
        await button(dialog(page), 'Change 2 records').click()
        await said(page, '2 records are changed.')
        assert.deepEqual([(await recordOf(6))?.Place, (await recordOf(7))?.Place], ['Bergen', 'Bergen'])
      })

      await t.test('meets what another person has written meanwhile, and chooses', async () => {
        await desk.open('entities/prints/records/9')
        await showTools(page)
        await button(page, 'Edit').click()
        await page.getByLabel('Title', { exact: true }).fill('Mine')
        await putRecord(other, 'prints', 9, { Nr: 9, Title: 'Theirs', Price: 7, Place: 'Basel' })
        await button(page, 'Save').click()
        await page.getByText('Someone else has changed this record meanwhile. Choose what stays.').waitFor()
        await see('conflict')
        await button(page, 'Save what is chosen').click()
        await said(page, 'Record 9 is changed.')
        assert.deepEqual(await recordOf(9), { Nr: 9, Title: 'Mine', Price: 7, Place: 'Basel' })
        await see('record')
      })

      await t.test('restores the version before the second import', async () => {
        await desk.open('admin/entities/prints')
        await page
          .getByRole('button', { name: /^Restore: / })
          .first()
          .click()
        await page.getByText('prints has its 40 records again.').waitFor()
        await see('restored')
        assert.equal((await records()).length, 40)
        assert.deepEqual([(await recordOf(3))?.Price, (await recordOf(9))?.Title], [2.5, 'Print 9'])
      })
      assertClean()
    },
  )
