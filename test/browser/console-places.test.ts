import assert from 'node:assert/strict'
import {
  assertAccessible,
  assertFits,
  button,
  dialog,
  openArchive,
  openDesk,
  phone,
  said,
  screen,
  settled,
} from '../support/clients/console.ts'
import { reader } from '../support/data/archive.ts'
import { addItem, everybody, titled } from '../support/data/repository.ts'
import { testOn } from '../support/service/engines.ts'
import { passwordOf } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

for (const size of [screen, phone]) {
  const at = `at ${size.width} px`

  testOn(
    'sqlite',
    `CO8 M1 a person is added with a password that holds the rule, or not at all, ${at}`,
    async t => {
      const { service, desk, page } = await openArchive(t, { size })
      const before = (await service.storage.people.listEpersons()).length
      await desk.open('admin/people')
      await button(page, 'Add a person').click()
      await page.getByText(/8 characters or more, none of the common passwords/).waitFor()
      desk.expectRefusals()
      const add = dialog(page).getByRole('button', { name: 'Add a person' })
      await dialog(page).getByLabel('Email address').fill('eva@x')
      await dialog(page).getByLabel('Password').fill('password1')
      await add.click()
      await page.getByText(/“x” has no dot/).waitFor()
      assert.equal((await service.storage.people.listEpersons()).length, before, 'it is not taken silently')
      await add.click()
      await page.getByText(/among the first that are guessed/).waitFor()
      assert.equal((await service.storage.people.listEpersons()).length, before, 'there is no half account')
      await dialog(page).getByLabel('Email address').fill('eva@example.org')
      await dialog(page).getByLabel('Password').fill(passwordOf('eva@example.org'))
      await assertFits(page, at)
      await assertAccessible(page, 'the form of a person')
      await add.click()
      await page.getByRole('heading', { level: 1, name: 'eva@example.org' }).waitFor()
      await service.client().login('eva@example.org')
      desk.assertQuiet()
    },
  )

  testOn(
    'sqlite',
    `CO8 people show who administers and who has no password, and are chosen by arrow keys, ${at}`,
    async t => {
      const { service, desk, page } = await openArchive(t, { size })
      await service.storage.people.createEperson(
        {
          ...{ email: 'eva@example.org', firstName: 'Eva', lastName: 'Ortiz' },
          ...{ enabled: true, profile: {}, passwordHash: null },
        },
        { ...event, event: 'eperson.add' },
      )
      await desk.open('admin/people')
      const rows = page.getByRole('row')
      await rows.filter({ hasText: 'ada@example.org' }).getByText('administrator').waitFor()
      await rows.filter({ hasText: 'eva@example.org' }).getByText('no password').waitFor()
      assert.equal(
        await rows
          .filter({ hasText: reader })
          .getByText(/administrator|no password/)
          .count(),
        0,
      )
      await desk.open('admin/groups?q=read')
      await page.getByRole('link', { name: 'Readers' }).click()
      const find = page.getByRole('combobox', { name: 'Find a person to add' })
      await find.fill('example.org')
      await page.getByRole('option').nth(1).waitFor()
      // Enter takes no row that wasn't chosen, and neither does a press that is taken back, nor another button.
      await page.keyboard.press('Enter')
      assert.equal(await page.getByRole('option', { selected: true }).count(), 0)
      await page.getByRole('option').first().hover()
      await page.mouse.down()
      await page.getByRole('heading', { level: 1 }).hover()
      await page.mouse.up()
      await page.getByRole('option').first().click({ button: 'right' })
      assert.equal(await find.inputValue(), 'example.org')
      await find.fill('nobody is called this')
      await page.getByText('Nothing found').waitFor()
      await find.fill('example.org')
      await page.getByRole('option').nth(1).waitFor()
      const box = await page.getByRole('listbox', { name: 'Find a person to add' }).boundingBox()
      assert.ok(box && box.y >= 0 && box.y + box.height <= size.height, 'the list is on the screen')
      const wanted = page.getByRole('option', { name: /^Eva Ortiz/ })
      while ((await wanted.getAttribute('aria-selected')) !== 'true') await page.keyboard.press('ArrowDown')
      await assertAccessible(page, 'a list of people')
      await page.keyboard.press('Enter')
      await said(page, 'Eva Ortiz is in the group.')
      assert.equal(await find.inputValue(), '')
      desk.assertQuiet()
    },
  )

  testOn(
    'sqlite',
    `CO10 a conflict says who has written meanwhile, or that it isn’t known, ${at}`,
    async t => {
      const { service, desk, page } = await openArchive(t, { size })
      const client = service.client()
      await client.login('ada@example.org')
      const path = '/api/query/v4/letters/2'
      const write = async (place: string) => {
        const changed = await client.patch(
          path,
          JSON.stringify([{ op: 'add', path: '/place', value: place }]),
          {
            'content-type': 'application/json-patch+json',
          },
        )
        assert.equal(changed.status, 200, await changed.text())
      }
      const opened = await client.patch('/api/admin/entities/letters', JSON.stringify({ write: 'admin' }), {
        'content-type': 'application/merge-patch+json',
      })
      assert.equal(opened.status, 200, await opened.text())
      await desk.open('entities/letters/records/2')
      await page.getByText('Nobody has written this record by itself yet').waitFor()
      await button(page, 'Edit').click()
      await page.getByRole('textbox', { name: 'sender' }).fill('Zelda')
      await write('Paris')
      desk.expectRefusals()
      await button(page, 'Save').click()
      await page.getByText('Someone else has changed this record meanwhile').waitFor()
      await page.getByText(/^By ada@example.org, /).waitFor()
      await until(
        'the history to be loaded again',
        () => page.getByText('Nobody has written this record by itself yet').count(),
        count => count === 0,
      )
      await assertFits(page, at)
      // Each radio button stands beside the first line of its words.
      for (const one of await page.locator('.conflict .check').all()) {
        const [control, words] = await Promise.all(
          ['input', 'span'].map(name => one.locator(name).first().boundingBox()),
        )
        assert.ok(control && words && words.x >= control.x + control.width)
        assert.ok(Math.abs(control.y - words.y) < 8, `${control.y} and ${words.y}`)
      }
      desk.assertQuiet()
    },
  )

  testOn(
    'sqlite',
    `CO14 the citation has the DOI, and authors, subjects, DOIs and languages say more than their text, ${at}`,
    async t => {
      const { service } = await openArchive(t, { as: null, size })
      const item = await addItem(service, {
        identifier: 'archive/3',
        metadata: {
          ...titled('On Rivers'),
          'dc.contributor.author': [{ value: 'Dürer', language: null }],
          'dc.subject': [{ value: 'wide "rivers"', language: null }],
          'dc.identifier.doi': [
            { value: 'doi:10.1234/a?b#c', language: null },
            { value: 'javascript:alert(1)//10.1234/x', language: null },
          ],
          'dc.language.iso': [{ value: 'de', language: null }],
        },
        readers: everybody,
        files: [],
      })
      const desk = await openDesk(t, service.front, { size })
      const { page } = desk
      await desk.open(`items/${item.uuid}`)
      const hrefOf = (name: string) =>
        page.locator('.metadata').getByRole('link', { name }).getAttribute('href')
      assert.equal(await hrefOf('doi:10.1234/a?b#c'), 'https://doi.org/10.1234/a%3Fb%23c')
      assert.match((await hrefOf('Dürer')) ?? '', /\/console\/items\?search=D%C3%BCrer$/)
      assert.match((await hrefOf('wide "rivers"')) ?? '', /\/console\/search\?q=/)
      assert.equal(await page.getByRole('link', { name: /javascript/ }).count(), 0)
      await page.locator('.metadata').getByText('German', { exact: true }).waitFor()
      await button(page, 'Cite').click()
      await page.getByText(/Dürer\. On Rivers\..* https:\/\/doi\.org\/10\.1234\/a%3Fb%23c$/).waitFor()
      await page.keyboard.press('Escape')
      await page.locator('.metadata').getByRole('link', { name: 'Dürer' }).click()
      await settled(page)
      await page.getByRole('link', { name: 'On Rivers' }).waitFor()
      await assertFits(page, at)
      desk.assertQuiet()
    },
  )

  testOn(
    'sqlite',
    `CO8 I16 a file is replaced under its address, and deleting one says that there is no way back, ${at}`,
    async t => {
      const { item, service, desk, page } = await openArchive(t, { size })
      await desk.open(`admin/items/${item.uuid}`)
      const file = item.bitstreams.find(({ name }) => name === 'letter.txt')
      await button(page, 'Replace: letter.txt').click()
      await page.getByText(/keeps its address.*can’t be undone/).waitFor()
      await dialog(page)
        .locator('input[type="file"]')
        .setInputFiles({ name: 'other.txt', mimeType: 'text/plain', buffer: Buffer.from('another text') })
      await dialog(page).getByRole('button', { name: 'Replace' }).click()
      await said(page, 'letter.txt has its new content.')
      const content = await fetch(`${service.address}/api/core/bitstreams/${file?.uuid}/content`)
      assert.equal(await content.text(), 'another text')
      await button(page, 'Delete: letter.txt').click()
      await dialog(page).getByText('This can’t be undone').waitFor()
      await assertFits(page, at)
      desk.assertQuiet()
    },
  )

  testOn(
    'sqlite',
    `CO8 filters stand in line, collections in the order of their names, and figures say nothing unmeasured, ${at}`,
    async t => {
      const { desk, page } = await openArchive(t, { size })
      await desk.open('admin/audit')
      const labels = await page.locator('.audit-filters > .field > label').all()
      const tops = await Promise.all(labels.map(async one => (await one.boundingBox())?.y ?? 0))
      assert.equal(tops.length, 4)
      assert.equal(new Set(tops).size, size === screen ? 1 : 2, `labels in line: ${tops}`)
      await assertFits(page, 'the filters of the trail')
      await desk.open('admin/entities')
      const names = await page.getByRole('main').locator('tbody a').allInnerTexts()
      assert.deepEqual(names, ['letters', 'places', 'Events', 'Files', 'Groups', 'Items', 'People'])
      await desk.open('admin/system/figures')
      await page.getByRole('figure').first().waitFor()
      const measured = await page.locator('.legend tr').allInnerTexts()
      assert.deepEqual(
        measured.filter(text => /–\s*highest 0/.test(text)),
        [],
      )
      desk.assertQuiet()
    },
  )
}

testOn(
  'sqlite',
  'CO4 on a phone, a table begins below its search and one button that shows the others',
  async t => {
    const { desk, page } = await openArchive(t, { size: phone })
    await desk.open('entities/letters')
    const heading = await page.getByRole('heading', { level: 1 }).boundingBox()
    const table = await page.getByRole('table').boundingBox()
    assert.ok(heading && table && table.y - heading.y < 220, `${table?.y} after ${heading?.y}`)
    const names = ['Facets', 'Filter', 'Sort', 'Draw']
    for (const name of names) assert.equal(await button(page, name).isVisible(), false, name)
    await button(page, 'What else can be done').press('Enter')
    for (const name of names.slice(0, 2)) assert.equal(await button(page, name).isVisible(), true, name)
    await page.getByRole('link', { name: 'Draw' }).waitFor()
    await assertFits(page, 'a table with its tools')
    await assertAccessible(page, 'a table with its tools')
    desk.assertQuiet()
  },
)

testOn('sqlite', 'CO4 a field that is chosen as soon as the filter opens stays chosen', async t => {
  const { desk, page } = await openArchive(t)
  await desk.open('entities/letters')
  // All of it before the browser paints, as on a machine with much to do.
  await button(page, 'Filter').evaluate(async (filter: HTMLElement) => {
    filter.click()
    const [field] = await new Promise<readonly HTMLSelectElement[]>(resolve => {
      const look = () => {
        const found = document.querySelectorAll<HTMLSelectElement>('form.filter select')
        if (found.length > 0) resolve([...found])
        else queueMicrotask(look)
      }
      look()
    })
    if (!field) return
    field.value = 'year'
    field.dispatchEvent(new Event('change', { bubbles: true }))
  })
  await page.getByLabel('Value of condition 1').fill('1894')
  await button(page, 'Show the records').click()
  await page.waitForURL(/q=year\b/)
  desk.assertQuiet()
})

testOn('sqlite', 'CO1 E1 a mistyped address shows a page that leads to the console', async t => {
  const { service, desk, page } = await openArchive(t, { as: null })
  desk.expectRefusals()
  const answer = await page.goto(`${service.front}/items`)
  assert.equal(answer?.status(), 404)
  await page.getByRole('heading', { name: 'There is nothing at this address' }).waitFor()
  await page.getByRole('link', { name: 'Open this service' }).click()
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
  desk.assertQuiet()
})

const event = {
  outcome: 'success',
  ...{ eperson: null, actor: null, clientIp: null, method: null, object: null, reason: null },
} as const
