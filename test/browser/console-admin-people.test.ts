import assert from 'node:assert/strict'
import {
  assertAccessible,
  assertFits,
  button,
  choose,
  dialog,
  openArchive,
  phone,
  said,
  settled,
  takePicture,
} from '../support/clients/console.ts'
import { reader } from '../support/data/archive.ts'
import { withProxy } from '../support/providers/proxy-flow.ts'
import { isLong } from '../support/scale.ts'
import { testOn } from '../support/service/engines.ts'
import { passwordOf } from '../support/service/service.ts'

testOn(
  'sqlite',
  'CO8 a person is added, changed, joined, disabled and deleted, from the keyboard where it counts',
  async t => {
    const { service, desk, page } = await openArchive(t)
    await desk.open('admin/groups')
    await button(page, 'Add a group').click()
    await dialog(page).waitFor()
    await page.keyboard.type('Curators')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'Curators' }).waitFor()

    // By keyboard alone: the dialog has the focus, and Enter submits it.
    await desk.open('admin/people')
    await button(page, 'Add a person').focus()
    await page.keyboard.press('Enter')
    await dialog(page).waitFor()
    await dialog(page).getByLabel('Email address').focus()
    const naughty = '<b onclick="alert(1)">\u202Eעברית'
    for (const text of ['eva@example.org', naughty, 'Ortiz', passwordOf('eva@example.org')]) {
      await page.keyboard.type(text)
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: naughty }).waitFor()
    assert.equal(await page.locator('main b').count(), 0, 'names are text')
    await settled(page)
    await assertAccessible(page, 'a person with a strange name')
    const uuid = new URL(page.url()).pathname.split('/').at(-1) ?? ''

    await page.getByLabel('First name').fill('Eva')
    await button(page, 'Save').click()
    await page.getByRole('heading', { level: 1, name: 'Eva Ortiz' }).waitFor()

    // In a group, with the reason for an access.
    await desk.open('admin/groups?q=curat')
    await page.getByRole('link', { name: 'Curators' }).click()
    await page.getByRole('combobox', { name: 'Find a person to add' }).fill('ortiz')
    await page.getByRole('option', { name: /^Eva Ortiz/ }).click()
    await said(page, 'Eva Ortiz is in the group.')
    await page.getByRole('combobox', { name: 'Find a group to add' }).fill('Read')
    await page.getByRole('option', { name: /^Readers/ }).click()
    await said(page, 'Readers is in the group.')
    await page.getByRole('link', { name: 'Eva Ortiz' }).click()
    await page.getByRole('row', { name: /Curators.*direct member/ }).waitFor()
    await page.getByRole('row', { name: /letters.*yes.*everybody who is logged in/ }).waitFor()
    // Membership through another group.
    await desk.open(`admin/people?q=${reader}`)
    await page.getByRole('main').getByRole('link').first().click()
    await page.getByRole('row', { name: /Curators.*through the group Readers/ }).waitFor()

    // A group is joined from the person's page, too.
    await desk.open(`admin/people/${uuid}`)
    await page.getByRole('combobox', { name: 'Find a group to join' }).fill('Read')
    await page.getByRole('option', { name: /^Readers/ }).click()
    await said(page, 'Eva Ortiz is in the group Readers.')
    await page.getByRole('row', { name: /Readers.*direct member/ }).waitFor()

    // The person's access to one record, from another network.
    await desk.open(`admin/people/${uuid}`)
    await page.getByText('Ask for a network').click()
    await page.getByLabel('Records of').fill('letters')
    await page.getByLabel('Key of the record').fill('7')
    await button(page, 'Ask').click()
    await page.getByText('letters 7').waitFor()

    const eva = service.client()
    await eva.login('eva@example.org')
    await choose(page, 'Log out everywhere')
    await dialog(page).getByRole('button', { name: 'Log out everywhere' }).click()
    await said(page, 'Eva Ortiz is logged out everywhere.')
    assert.equal(await eva.isLoggedIn(), false)

    await choose(page, 'Set a password')
    desk.expectRefusals()
    await dialog(page).getByLabel('New password').fill('password')
    await dialog(page).getByRole('button', { name: 'Set a password' }).click()
    await dialog(page).getByRole('alert').waitFor()
    await dialog(page).getByLabel('New password').fill('another password of hers')
    await dialog(page).getByRole('button', { name: 'Set a password' }).click()
    await said(page, 'Eva Ortiz has a new password.')
    assert.equal((await eva.tryLogin('eva@example.org', 'another password of hers')).status, 200)
    assert.equal(await button(page, 'Act on behalf').count(), 0, 'where it is off, it isn’t offered')

    await choose(page, 'Disable the account')
    await dialog(page).getByRole('button', { name: 'Disable the account' }).click()
    await page.getByRole('main').getByText('disabled', { exact: true }).waitFor()
    assert.equal((await eva.tryLogin('eva@example.org', 'another password of hers')).status, 401)

    await choose(page, 'Delete the account')
    const last = dialog(page).getByRole('button', { name: 'Delete the account' })
    await dialog(page).getByLabel('Type “eva@example.org” to confirm').fill('eva')
    await last.click({ force: true })
    assert.equal(await last.getAttribute('aria-disabled'), 'true')
    await dialog(page).getByLabel('Type “eva@example.org” to confirm').fill('eva@example.org')
    await last.click()
    await page.getByRole('heading', { level: 1, name: 'People' }).waitFor()
    await page.getByRole('searchbox').fill('eva@')
    await page.getByRole('heading', { name: 'Nobody found' }).waitFor()
    desk.assertQuiet()
  },
)

testOn(
  'sqlite',
  'CO9 acting on behalf asks for the reason, is told on every page, and ends where it began',
  async t => {
    const { desk, page } = await openArchive(t, {
      env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' },
      size: phone,
    })
    await desk.open(`admin/people?q=${reader}`)
    await page.getByRole('main').getByRole('link').first().click()
    await button(page, 'Act on behalf').click()
    await dialog(page).getByRole('button', { name: 'Act on behalf' }).click()
    assert.equal(await page.locator('.acting').count(), 0, 'not without a reason')
    await dialog(page).getByLabel('Reason').fill('She can’t find her letter – Ω')
    await dialog(page).getByRole('button', { name: 'Act on behalf' }).click()
    const banner = page.locator('.acting')
    await banner.waitFor()
    for (const path of ['', 'entities/letters', 'items', 'account', 'admin/people']) {
      await desk.open(path)
      assert.equal(await banner.isVisible(), true, path)
      assert.match(await banner.innerText(), /You act as Test Person – She can’t find her letter – Ω/)
      await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
      const box = await banner.boundingBox()
      assert.ok(box && box.y >= 0 && box.y < 10, `${path}: it stays in sight`)
      await assertFits(page, path)
      // The banner is the same on every page, and the pages below it are checked without it elsewhere.
      if (isLong || path === '') await assertAccessible(page, `acting, ${path}`)
    }
    // On behalf of this person, administration is forbidden.
    await page.getByRole('heading', { name: 'This page is not open to you' }).waitFor()
    await takePicture(page, 'acting-360-light')
    await button(page, 'Be yourself again').click()
    await page.getByRole('row', { name: /ruth@example.org/ }).waitFor()
    assert.equal(await banner.count(), 0)

    await desk.open('admin/audit?event=on-behalf-of')
    await page.getByRole('main').getByRole('link').first().click()
    await page.getByText('She can’t find her letter – Ω').waitFor()
    desk.assertQuiet()
  },
)

testOn(
  'sqlite',
  'CO8 who is no administrator sees none of these pages, and gets nothing from them',
  async t => {
    const { item, desk, page } = await openArchive(t, { as: reader })
    assert.equal(await page.getByRole('link', { name: 'Audit trail' }).count(), 0)
    desk.expectRefusals()
    for (const path of [
      'admin/people',
      'admin/groups',
      'admin/entities',
      'admin/entities/letters',
      'admin/processes',
      'admin/system',
      'admin/system/figures',
      'admin/system/backups',
      'admin/system/alert',
      'admin/people/nobody',
    ]) {
      await desk.open(path)
      await page.getByRole('heading', { name: 'This page is not open to you' }).waitFor()
      // Forbidden pages look the same.
      if (isLong || path === 'admin/people') await assertAccessible(page, path)
    }
    // An editor may read an item, but not its policies.
    await desk.open(`admin/items/${item.uuid}`)
    await page.getByRole('heading', { name: 'This page is not open to you' }).waitFor()
    desk.assertQuiet()
  },
)

testOn(
  'sqlite',
  'CO8 special groups are marked, say who is in them, and of a person which session has which',
  async t => {
    const env = withProxy(t, {
      provider: { groups: [{ group: 'Staff', attribute: 'affiliation', value: 'staff' }] },
      file: {
        specialGroups: {
          ip: [{ group: 'Campus', ranges: ['127.0.0.0/8', '!127.9.0.0/16'] }],
          method: [{ group: 'Local accounts', method: 'password' }],
        },
      },
    })
    const { service, desk, page } = await openArchive(t, { env })
    const ruth = service.client()
    await ruth.login(reader)
    await desk.open('admin/groups')
    for (const name of ['Campus', 'Local accounts', 'Staff'])
      await page.getByRole('row', { name: `${name} special group` }).waitFor()
    assert.equal(await page.getByRole('row', { name: /Readers.*special group/ }).count(), 0)
    await page.getByRole('link', { name: 'Campus' }).click()
    await page.getByText('addresses in 127.0.0.0/8, without 127.9.0.0/16').waitFor()
    await page.getByText('Nobody can be added by hand').waitFor()
    assert.equal(await page.getByRole('searchbox', { name: /to add/ }).count(), 0)
    assert.equal(await button(page, 'Delete').count(), 0)
    assert.equal(await page.getByLabel('Name', { exact: true }).getAttribute('readonly'), '')
    await settled(page)
    await assertAccessible(page, 'a special group')
    await takePicture(page, 'group-special-1440-light')

    await desk.open(`admin/people?q=${reader}`)
    await page.getByRole('main').getByRole('link').first().click()
    const special = page.getByRole('region', { name: 'Special groups' })
    await special.getByRole('row', { name: /Local accounts logins by password password, since/ }).waitFor()
    await special.getByRole('row', { name: /Campus .* perhaps password, since .*127\.0\.0\.0\/24/ }).waitFor()
    await page.getByText('1 more rule gives nothing to their sessions.').waitFor()
    await settled(page)
    await special.scrollIntoViewIfNeeded()
    await assertAccessible(page, 'special groups of a person')
    await takePicture(page, 'person-special-1440-light')
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize(phone)
    await special.scrollIntoViewIfNeeded()
    await assertFits(page, 'special groups of a person')
    await takePicture(page, 'person-special-360-dark')
    desk.assertQuiet()
  },
)
