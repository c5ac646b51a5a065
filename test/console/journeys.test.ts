import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Download, Page } from 'playwright-core'
import { assertCount } from '../support/clients/browser.ts'
import {
  assertAccessible,
  assertFits,
  openArchive,
  openDesk,
  phone,
  settled,
  showTools,
  startDeskService,
  takePicture,
} from '../support/clients/console.ts'
import { fillArchive, reader } from '../support/data/archive.ts'
import { testOn } from '../support/service/engines.ts'
import { passwordOf } from '../support/service/service.ts'

/** Returns the content of a download. The tests use the console by pointer and by keyboard. */
const textOf = async (download: Download) => readFileSync(await download.path(), 'utf8')

/** Moves the focus from control to control with the Tab key until one has this name. */
async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const fits = (text: string) => (typeof name === 'string' ? text === name : name.test(text))
  for (let step = 0; step < 80; step++) {
    await page.keyboard.press('Tab')
    const text = await page.evaluate(() => {
      const element = document.activeElement
      const labelled =
        element && 'labels' in element ? (element as HTMLInputElement).labels?.[0]?.textContent : null
      return (element?.getAttribute('aria-label') ?? labelled ?? element?.textContent ?? '').trim()
    })
    if (fits(text)) return
  }
  throw new Error(`no Tab leads to ${name}`)
}

testOn(
  'sqlite',
  'CO4 someone without a mouse logs in, opens a table, sorts it, filters it and opens a record',
  async t => {
    const service = await startDeskService(t)
    await fillArchive(service)
    const desk = await openDesk(t, service.front)
    // Unfinished conditions are checked, too, and are refused until they are complete.
    desk.expectRefusals()
    const { page } = desk
    await desk.open('login')
    await tabTo(page, 'Email address')
    await page.keyboard.type(reader)
    await tabTo(page, 'Password')
    await page.keyboard.type(passwordOf(reader))
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    // The title gets the focus with the next frame.
    await page.locator('h1:focus').waitFor()

    await page.evaluate(() => (document.activeElement as HTMLElement).blur())
    await tabTo(page, 'letters')
    await page.keyboard.press('Enter')
    await page.getByRole('columnheader', { name: 'year' }).waitFor()
    await tabTo(page, 'Filter')
    await page.keyboard.press('Enter')
    await tabTo(page, 'PQL')
    await page.keyboard.press('Enter')
    await tabTo(page, 'Condition in PQL for letters')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('sen')
    await page.getByRole('option', { name: /^sender/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.keyboard.type('= "Z')
    await page.getByRole('option', { name: /"Zoë"/ }).waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+Enter')
    await page.getByText('1–50 of 60').waitFor()
    assert.equal(new URL(page.url()).searchParams.get('q'), 'sender = "Zoë"')

    await tabTo(page, 'year')
    await page.keyboard.press('Enter')
    await page.locator('th[aria-sort=ascending]', { hasText: 'year' }).waitFor()
    await tabTo(page, 'pages')
    await page.keyboard.press('Shift+Enter')
    await page.waitForURL(/sort=year%2Cpages/)
    await settled(page)
    await tabTo(page, /^\d+$/)
    await page.keyboard.press('Enter')
    await page.waitForURL(/records\/\d+$/)
    await page.getByText('Zoë', { exact: true }).waitFor()
    desk.assertQuiet()
  },
)

testOn('sqlite', 'CO4 filters by hand, columns, pages and downloads: the address is the query', async t => {
  const { service, desk, page } = await openArchive(t, { as: reader })
  await desk.open('entities/letters')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByLabel('Field of condition 1').selectOption('year')
  await page.getByLabel('Comparison of condition 1').selectOption('at-least')
  // A value that is not a number is reported at its field, without a request.
  await page.getByLabel('Value of condition 1').fill('1790x')
  await page.getByRole('button', { name: 'Show the records' }).click()
  await page.getByText('Not a whole number').waitFor()
  assert.equal(await page.getByLabel('Value of condition 1').getAttribute('aria-invalid'), 'true')
  await page.getByLabel('Value of condition 1').fill('1790')
  await page.getByText('Not a whole number').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Add a condition' }).click()
  await page.getByLabel('Field of condition 2').selectOption('title')
  await page.getByLabel('Value of condition 2').fill('(Aarhus')
  await page.getByRole('button', { name: 'Show the records' }).click()
  await page.getByRole('heading', { name: 'No record fits' }).waitFor()
  await page.getByLabel('Value of condition 2').fill('aarhus')
  await page.getByRole('button', { name: 'Show the records' }).click()
  const condition = 'year >= 1790 and title ~ "(?i)aarhus"'
  await page.waitForURL(url => url.searchParams.get('q') === condition)
  await page.getByRole('row').nth(1).waitFor()
  await settled(page)
  const shown = await page.getByRole('row').count()

  await page.getByRole('button', { name: /^Columns/ }).click()
  await page.getByRole('checkbox', { name: /^shelfmark/ }).uncheck()
  await page.keyboard.press('Escape')
  assert.equal(await page.getByRole('columnheader', { name: 'shelfmark' }).count(), 0)

  await page.getByRole('columnheader', { name: 'year' }).locator('.sort').click()
  await page.waitForURL(/sort=year/)
  await settled(page)
  for (const [columns, head] of [
    [/^The \d+ columns that are shown$/, /^id,title,sender,/],
    [/^All \d+ columns$/, /^id,shelfmark,title,sender,/],
  ] as const) {
    await page.getByRole('button', { name: 'Download' }).click()
    const [csv] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('group', { name: columns }).getByRole('button', { name: 'CSV', exact: true }).click(),
    ])
    assert.equal(csv.suggestedFilename(), 'letters.csv')
    const lines = (await textOf(csv)).trim().split('\n')
    assert.match(lines[0] ?? '', head)
    assert.equal(lines.length, shown, 'the head and the records that are shown')
    const years = lines.slice(1).map(line => /,(1[78]\d\d),/.exec(line)?.[1] ?? '')
    assert.deepEqual(years, years.toSorted(), 'in the order of the table')
  }

  const address = page.url()
  const other = await openDesk(t, service.front)
  await other.logIn(reader)
  await other.page.goto(address)
  await settled(other.page)
  await assertCount(other.page.getByRole('row'), shown)
  // The link shows the records, with what must hold in one line.
  assert.equal(await other.page.getByLabel('Value of condition 1').count(), 0)
  await other.page.locator('.applied', { hasText: 'year: ≥ 1790' }).waitFor()
  await other.page.locator('.applied', { hasText: 'title ~ "(?i)aarhus"' }).waitFor()

  await desk.open('entities/letters?size=25')
  await page.getByLabel('Page', { exact: true }).fill('12')
  await page.keyboard.press('Enter')
  await page.getByText('276–300 of 300').waitFor()
  await page.getByRole('button', { name: 'Previous page' }).click()
  await page.getByText('251–275 of 300').waitFor()
  await page.goBack()
  await page.getByText('276–300 of 300').waitFor()
  desk.assertQuiet()
})

testOn(
  'sqlite',
  'CO4 a table is sorted by several columns without Shift, by pointer and by keyboard',
  async t => {
    const { desk, page } = await openArchive(t, { as: reader, size: phone })
    await desk.open('entities/letters')
    await showTools(page)
    const sorting = page.getByRole('button', { name: /^Sort( \d)?$/ })
    const sorted = (value: string) => page.waitForURL(url => url.searchParams.get('sort') === value)
    const add = async (name: string) => {
      await page.getByLabel('Another column').selectOption(name)
      await page.getByRole('button', { name: 'Add', exact: true }).click()
    }
    await sorting.click()
    await add('place')
    await add('year')
    await add('pages')
    await sorted('place,year,pages')
    await page.getByRole('button', { name: 'year: ascending' }).click()
    await sorted('place,-year,pages')
    await page.getByRole('button', { name: 'Don’t sort by place' }).click()
    await sorted('-year,pages')
    await settled(page)
    await takePicture(page, 'sorting-360-light')
    await assertAccessible(page, 'the panel of orders')
    await assertFits(page, 'the panel of orders')
    // The panel is completely visible, and so is its content.
    const [panel, window] = await page
      .locator('.menu-list')
      .evaluate(one => [
        [
          one.getBoundingClientRect().left,
          one.getBoundingClientRect().right,
          one.scrollWidth - one.clientWidth,
        ],
        document.documentElement.clientWidth,
      ])
    const [left = 0, right = 0, hidden = 0] = panel as readonly number[]
    assert.ok(left >= 0 && right <= Number(window) && hidden <= 0, `${left} to ${right}, ${hidden} px hidden`)
    // The button keeps the focus when it moves, so that it can be pressed again.
    await page.getByRole('button', { name: 'Sort by pages earlier' }).focus()
    await page.keyboard.press('Enter')
    await sorted('pages,-year')
    await page.keyboard.press('Enter')
    await settled(page)
    assert.equal(
      await page.evaluate(() => document.activeElement?.getAttribute('aria-label')),
      'Sort by pages earlier',
    )
    await page.keyboard.press('Escape')
    await page.locator('th[aria-sort=descending]', { hasText: 'year' }).waitFor()
    await page.locator('th[aria-sort=ascending]', { hasText: 'pages' }).waitFor()
    assert.equal(await sorting.evaluate(one => one === document.activeElement), true)
    desk.assertQuiet()
  },
)

testOn('sqlite', 'CO4 a mistake in PQL is shown at its place, with what was perhaps meant', async t => {
  const { desk, page } = await openArchive(t, { as: reader })
  await desk.open('entities/letters')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByRole('button', { name: 'PQL' }).click()
  const editor = page.getByLabel('Condition in PQL for letters')
  await editor.fill('pages > 3 and\n yaer < 1790')
  await page.getByRole('alert').locator('mark', { hasText: 'yaer' }).waitFor()
  await page.getByRole('button', { name: 'Use “year”' }).click()
  assert.equal(await editor.inputValue(), 'pages > 3 and\n year < 1790')
  await page.getByRole('alert').waitFor({ state: 'detached' })
  for (const [condition, message] of [
    ['year <', 'The condition breaks off here. What can follow: a field, a text in quotes'],
    ['letters[id] { year < 1790 }', 'This is a whole query. Only its condition goes here'],
    ['["=", "year", 1790]', 'This is a whole query. Only its condition goes here'],
    ['year = 1800x', '1800x doesn’t fit: what belongs here is a number.'],
    ['year = "nothing"', '"nothing" doesn’t fit: what belongs here is a number.'],
    ['sender = Zoë', 'A text needs quotes: "Zoë"'],
    ['year = 1790 }', 'This brace closes nothing. Only the condition goes here.'],
    ['year = 1790 )', '“)” can’t stand here. What can: and, or'],
    ['subjects[x] = "Basel"', '[x] is not the number of an element, such as [0].'],
    ['not (year is null)', 'Write “!” instead of “not”.'],
    ['count() > 5', 'A filter can’t compare a function.'],
    ['sender = "Zoë', 'This text has no quote at its end.'],
    ['year = null', 'Write “is null” or “is not null” after the field.'],
  ] as const) {
    await editor.fill(condition)
    // Suggestions cover the fault until they are dismissed.
    await editor.press('Escape')
    await page.getByRole('alert').getByText(message).waitFor()
  }
  await editor.fill('year == 1790')
  await editor.press('Escape')
  await page.getByRole('button', { name: 'Use “=”' }).click()
  assert.equal(await editor.inputValue(), 'year = 1790')
  // Whatever can be seen without the service, it isn't asked: browsers log its refusals.
  desk.assertQuiet()
  desk.expectRefusals()
  // It is asked once about another wrong condition, however often that is shown.
  const asked: string[] = []
  page.on('response', response => response.status() === 400 && asked.push(response.url()))
  await editor.fill('catalogued > "2000-13-45"')
  await editor.press('Escape')
  await page.getByRole('alert').locator('mark', { hasText: '2000-13-45' }).waitFor()
  await page.getByRole('button', { name: 'Show the records' }).click()
  await page.waitForURL(/q=catalogued.*2000-13-45/)
  await settled(page)
  await page.getByRole('alert').locator('mark', { hasText: '2000-13-45' }).waitFor()
  assert.equal(asked.length, 1)
  // A fault is no longer shown once the condition has changed.
  await editor.fill('letters { year < 1790 }')
  await editor.press('Escape')
  await page.getByRole('button', { name: 'Use “year < 1790”' }).click()
  assert.equal(await page.getByRole('alert').count(), 0)
  await page.getByRole('button', { name: 'Show the records' }).click()
  await page.waitForURL(/q=year/)
  await page.getByRole('row').nth(1).waitFor()

  await page.getByRole('button', { name: 'Appearance, Language' }).click()
  await page.getByRole('button', { name: 'Deutsch' }).click()
  const german = page.getByRole('textbox', { name: /PQL/ })
  await german.fill('yaer = 1')
  await german.press('Escape')
  await page.getByRole('alert').getByText('Es gibt kein Feld yaer.').waitFor()
  for (const [condition, message] of [
    ['year = "x"', '"x" passt nicht: Hierher gehört eine Zahl.'],
    ['sender = Zoë', 'Ein Text braucht Anführungszeichen: "Zoë"'],
    ['(year = 1790', 'Hier bricht die Bedingung ab. Folgen kann: and, or, )'],
    ['subjects[x] = "Basel"', '[x] ist nicht die Nummer eines Elements, wie [0].'],
    ['not (year is null)', 'Schreiben Sie „!“ statt „not“.'],
  ] as const) {
    await german.fill(condition)
    await german.press('Escape')
    await page.getByRole('alert').getByText(message).waitFor()
  }
  desk.assertQuiet()
})

testOn('sqlite', 'CO4 drawings are saved as SVG and PNG, and are there as a table', async t => {
  const { desk, page } = await openArchive(t, { as: reader })
  await desk.open('entities/letters/draw')
  await page.getByLabel('Group by').selectOption('place')
  await page.getByLabel('And by').selectOption('sender')
  await page.getByLabel('Drawn as').selectOption('cells')
  await settled(page)
  await assertCount(page.locator('svg.plot .mark rect'), 5)
  const [svg] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'SVG' }).click(),
  ])
  const drawing = await textOf(svg)
  assert.match(drawing, /^<svg[^>]* xmlns="http:\/\/www\.w3\.org\/2000\/svg"/)
  assert.doesNotMatch(drawing, /var\(|oklch|<a /)
  assert.match(drawing, /number of records by place and sender.*>sender<.*>place</s)
  const [png] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'PNG' }).click(),
  ])
  assert.equal(
    readFileSync(await png.path())
      .subarray(1, 4)
      .toString(),
    'PNG',
  )
  await page.getByText('The same as a table').click()
  await assertCount(page.getByRole('row'), 6)
  await assertAccessible(page, 'the table of a drawing')
  desk.assertQuiet()
})

testOn('sqlite', 'CO5 files are shown in place, except for what could run, and downloads resume', async t => {
  const service = await startDeskService(t)
  const { item } = await fillArchive(service)
  const desk = await openDesk(t, service.front)
  const { page } = desk
  await desk.open('items')
  await page.getByRole('link', { name: 'Bertha to Câmara, Basel' }).click()
  const entry = (name: string) => page.getByRole('listitem').filter({ hasText: name })
  await entry('letter.txt').getByRole('button', { name: 'Show' }).click()
  await page.getByText('this was never written').waitFor()
  await entry('picture.png').getByRole('button', { name: 'Show' }).click()
  const picture = page.getByRole('img', { name: 'A green field' })
  await picture.waitFor()
  assert.match((await picture.getAttribute('src')) ?? '', /^blob:/)
  await entry('voice.wav').getByRole('button', { name: 'Show' }).click()
  await page.waitForFunction(() => (document.querySelector('audio')?.readyState ?? 0) > 0)
  await entry('letter.pdf').getByRole('button', { name: 'Show' }).click()
  await page.getByText('The text of this page').click()
  await page.getByText('Dear friend in a PDF').waitFor()
  for (const name of ['page.html', 'drawing.svg'])
    assert.equal(await entry(name).getByRole('button', { name: 'Show' }).count(), 0, name)
  await assertAccessible(page, 'an item with open files')

  // The connection breaks after some bytes, twice.
  const { uuid } = item.files.get('letter.txt') ?? {}
  let asked = 0
  await page.route(`**/bitstreams/${uuid}/content*`, async route => {
    asked++
    await (asked === 1 ? route.abort('connectionreset') : route.continue())
  })
  const download = page.waitForEvent('download')
  await entry('letter.txt').getByRole('button', { name: 'Download' }).click()
  const again = entry('letter.txt').getByRole('button', { name: 'Go on' })
  await again.waitFor()
  await again.click()
  assert.equal(await textOf(await download), 'Dear friend,\nthis was never written.\n')
})

testOn('sqlite', 'CO6 when a session ends, what was typed is still there after the next login', async t => {
  const { service, desk, page } = await openArchive(t, { as: reader })
  desk.expectRefusals()
  await desk.open('account')
  await page.getByLabel('First name').fill('Ruth Elisabeth')
  // A logout on another device ends the session here, too.
  const elsewhere = service.client()
  await elsewhere.login(reader)
  await elsewhere.post('/api/authn/logout', undefined)
  await page.getByRole('button', { name: 'Save' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('heading', { name: 'Your session is over' }).waitFor()
  await assertAccessible(page, 'the login over a page')
  await dialog.getByLabel('Password', { exact: true }).fill(passwordOf(reader))
  await dialog.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('Saved.').waitFor()
  assert.equal(await page.getByLabel('First name').inputValue(), 'Ruth Elisabeth')
  desk.assertQuiet()
})

testOn('sqlite', 'CO6 before a session ends, it warns, and it can be prolonged', async t => {
  const { desk, page } = await openArchive(t, { as: reader, env: { CARREL_TOKEN_LIFETIME: '90' } })
  const warning = page.getByRole('alertdialog', { name: 'Your session ends soon.' })
  await warning.waitFor()
  await assertAccessible(page, 'the warning')
  const renewed = page.waitForResponse(answer => answer.url().endsWith('/api/authn/login'))
  await warning.getByRole('button', { name: 'Stay logged in' }).click()
  assert.equal((await renewed).status(), 200)
  desk.assertQuiet()
})

testOn('sqlite', 'CO6 a logout in one tab is one in all, and nothing of the session is left', async t => {
  const service = await startDeskService(t)
  await fillArchive(service)
  const desk = await openDesk(t, service.front)
  const { page, context } = desk
  await desk.logIn(reader)
  const other = await context.newPage()
  await other.goto(`${service.front}/console/entities/letters`)
  await settled(other)
  await page.getByRole('button', { name: 'Account of Test Person' }).click()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByRole('link', { name: 'Log in', exact: true }).waitFor()
  await other.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))
  assert.doesNotMatch(kept, /eyJ/)
  assert.equal((await context.cookies()).filter(({ name }) => /token/i.test(name)).length, 0)
})

testOn('sqlite', 'CO6 access tokens are made, shown once and revoked', async t => {
  const { service, desk, page } = await openArchive(t, { as: reader })
  await desk.open('tokens')
  await page.getByRole('button', { name: 'Make an access token' }).click()
  await page.getByLabel('Name').fill('nightly')
  await page.getByLabel('It may use').selectOption('letters')
  await page.getByRole('button', { name: 'Make the token' }).click()
  const token = await page.locator('.secret code').innerText()
  const ask = () =>
    fetch(`${service.address}/api/query/v4/letters?limit=1`, {
      headers: { authorization: `Bearer ${token}` },
    })
  assert.equal((await ask()).status, 200)
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
  await page.locator('bdi', { hasText: 'nightly' }).waitFor()
  assert.doesNotMatch(await page.content(), /carrel_pat_/)
  await page.getByRole('button', { name: 'Revoke nightly' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('heading', { name: 'No access tokens' }).waitFor()
  assert.notEqual((await ask()).status, 200)
  desk.assertQuiet()
})

testOn(
  'sqlite',
  'CO4 the console speaks German, remembers theme and language, and works below a path',
  async t => {
    const service = await startDeskService(t, { below: '/archive' })
    await fillArchive(service)
    const desk = await openDesk(t, service.front)
    const { page } = desk
    await desk.open('')
    await page.getByRole('button', { name: 'Appearance, Language' }).click()
    await page.getByRole('button', { name: 'Deutsch' }).click()
    await page.getByRole('heading', { level: 1, name: 'Überblick' }).waitFor()
    await page.getByRole('button', { name: 'Dunkel' }).click()
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Überblick' }).waitFor()
    assert.deepEqual(
      await page.evaluate(() => [document.documentElement.lang, document.documentElement.dataset.theme]),
      ['de', 'dark'],
    )
    await page.getByRole('navigation').getByRole('link', { name: 'Objekte' }).click()
    assert.equal(new URL(page.url()).pathname, '/archive/console/items')
    await settled(page)
    await assertAccessible(page, 'German and dark')
    desk.assertQuiet()
  },
)

testOn('sqlite', 'CO4 a language whose name no format takes is no reason to show less', async t => {
  const service = await startDeskService(t)
  const { page, open, assertQuiet } = await openDesk(t, service.front)
  await page.addInitScript(() => {
    Object.defineProperty(navigator, 'languages', { value: ['en-US@posix', 'en-GB'] })
  })
  await open('')
  await page.getByRole('heading', { name: 'What every repository has' }).waitFor()
  assertQuiet()
})
