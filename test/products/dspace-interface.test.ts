import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openBrowser } from '../support/clients/browser.ts'
import { addItem, everybody, membersOf, type StoredItem, titled } from '../support/data/repository.ts'
import { serve } from '../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../support/service/service.ts'
import { builds, freePort, serveInterface, Walker } from './dspace-interface.ts'

/** What people do at DSpace's interface, as they see it. The service is a process of its own. */

const admin = 'admin@example.org'
const reader = 'reader@example.org'
const curator = 'curator@example.org'

async function start(t: TestContext, folder: string) {
  const dataFolder = temporaryFolder(t)
  const own = await startService(t, { dataFolder })
  await own.addEperson(admin, { admin: true })
  await own.addEperson(reader, { groups: ['Readers'] })
  await own.addEperson(curator, { groups: ['Curators'] })
  const item = await addItem(own, {
    identifier: 'letters',
    metadata: titled('Letters from the coast'),
    readers: everybody,
    files: [
      { name: 'open.txt', content: 'open to all' },
      { name: 'restricted.txt', content: 'for readers', readers: membersOf('Readers') },
      {
        name: 'embargoed.txt',
        content: 'not yet',
        readers: [{ reader: 'anonymous', from: '2999-01-01' }],
      },
    ],
  })
  await own.stop()
  const port = await freePort()
  const ui = await serveInterface(t, folder, { host: 'localhost', port, nameSpace: '/server' })
  await serve(t, dataFolder, {
    env: {
      CARREL_PORT: String(port),
      CARREL_BASE_URL: `http://localhost:${port}/server`,
      CARREL_ALLOWED_ORIGINS: ui,
      CARREL_LOGIN_ON_BEHALF_OF: 'true',
    },
  })
  return {
    item,
    /** A person with a browser of their own. */
    person: async () => {
      const context = await openBrowser(t, { width: 1300, height: 1000 })
      await context.addInitScript(
        "localStorage.setItem('klaro', '{}'); document.cookie = 'klaro-anonymous=%7B%22authentication%22%3Atrue%2C%22preferences%22%3Atrue%2C%22acknowledgement%22%3Atrue%2C%22google-analytics%22%3Afalse%7D; path=/'",
      )
      return new Walker(await context.newPage(), ui, `http://localhost:${port}/server`)
    },
  }
}

const fileOf = (item: StoredItem, name: string) => item.files.get(name)?.uuid ?? ''

for (const folder of builds) {
  const name = folder.split('/').at(-3) ?? folder

  test(`Z1 F1 what is open can be read by anybody at DSpace’s interface (${name})`, async t => {
    const { item, person } = await start(t, folder)
    const anybody = await person()
    await anybody.open('/home')
    await anybody.open(`/items/${item.uuid}`)
    await anybody.sees('Letters from the coast', 'open.txt')
    await anybody.open(`/items/${item.uuid}/full`)
    await anybody.sees('dc.title', 'open.txt')
    assert.equal(await anybody.downloads(fileOf(item, 'open.txt')), 'open to all')
    anybody.assertNoFailures()
  })

  test(`L1 F1 a reader logs in, stays so, downloads what they may, and logs out (${name})`, async t => {
    const { item, person } = await start(t, folder)
    const walker = await person()
    await walker.logIn(reader)
    await walker.open(`/items/${item.uuid}/full`)
    await walker.sees('restricted.txt')
    assert.equal(await walker.downloads(fileOf(item, 'restricted.txt')), 'for readers')
    await walker.page.reload()
    await walker.settle()
    assert.equal(await walker.isLoggedIn(), true, 'after a reload')
    await walker.open('/profile')
    await walker.sees('Readers')
    assert.equal(await walker.page.locator('input#firstname').inputValue(), 'Test')
    await walker.logOut()
    await walker.open(`/items/${item.uuid}/full`)
    assert.ok(!(await walker.text()).includes('restricted.txt'))
    walker.assertNoFailures()
  })

  test(`M2 T6 a profile and a password are changed, and the session goes on (${name})`, async t => {
    const { person } = await start(t, folder)
    const walker = await person()
    const { page } = walker
    await walker.logIn(reader)
    await walker.open('/profile')
    await page.locator('input#firstname').fill('Ruth')
    await page.locator('input#phone').fill('+49 30 1234')
    // A form tells its page some time after the last key.
    await page.waitForTimeout(1_000)
    await walker.press('Save')
    await walker.sees('Profile saved')
    await page.locator('input#current-password').fill(passwordOf(reader))
    await page.locator('input#password').fill('quite another one')
    await page.locator('input#passwordrepeat').fill('quite another one')
    await page.waitForTimeout(1_000)
    await walker.press('Save')
    await walker.sees('Password saved')
    await walker.open('/profile')
    assert.equal(await walker.isLoggedIn(), true)
    assert.equal(await page.locator('input#firstname').inputValue(), 'Ruth')
    assert.equal(await page.locator('input#phone').inputValue(), '+49 30 1234')
    walker.assertNoFailures()
  })

  test(`M1 M5 B1 an administrator adds a person and a group, and acts as the person (${name})`, async t => {
    const { person } = await start(t, folder)
    const walker = await person()
    const { page } = walker
    await walker.logIn(admin)
    await walker.open('/access-control/epeople/create')
    await page.locator('input#firstName').fill('Ada')
    await page.locator('input#lastName').fill('Lovelace')
    await page.locator('input#email').fill('ada@example.org')
    await page.locator('ds-form button[type=submit]:visible, ds-form button.submit:visible').first().click()
    await walker.sees('Successfully created EPerson')
    await walker.open('/access-control/epeople')
    await walker.sees('ada@example.org')

    await walker.open('/access-control/groups/create')
    await page.locator('input#groupName').fill('Mathematicians')
    await page.locator('textarea#groupDescription').fill('Those who calculate')
    await page.locator('ds-form button[type=submit]:visible, ds-form button.submit:visible').first().click()
    await walker.sees('Successfully created Group')
    await page.locator('ds-members-list input#query').fill('ada@')
    await page.locator('ds-members-list button.search-button').click()
    await walker.settle()
    await page.locator('#epersonsSearch tbody tr button').first().click()
    await walker.sees('Successfully added member')
    await walker.open('/access-control/groups')
    await walker.sees('Mathematicians')

    await walker.open('/access-control/epeople')
    await page
      .locator('tr', { hasText: 'ada@example.org' })
      .locator('.access-control-editEPersonButton, a, button')
      .first()
      .click()
    await walker.settle()
    await walker.press('Impersonate EPerson')
    await walker.open('/profile')
    await walker.sees('Mathematicians')
    assert.equal(await page.locator('input#firstname').inputValue(), 'Ada')
    await page.locator('ds-impersonate-navbar button').first().click()
    await walker.settle()
    await walker.open('/access-control/epeople')
    await walker.sees('ada@example.org')
    walker.assertNoFailures()
  })

  test(`I2 I3 I4 an administrator changes the metadata, files and state of an item (${name})`, async t => {
    const { item, person } = await start(t, folder)
    const walker = await person()
    const { page } = walker
    await walker.logIn(admin)
    const edit = `/items/${item.uuid}/edit`

    await walker.open(`${edit}/metadata`)
    await walker.sees('dc.title')
    await page.locator('[data-test="metadata-edit-btn"]').first().click()
    await page.locator('ds-dso-edit-metadata-value textarea').first().fill('Letters from the mountains')
    await page.locator('[data-test="metadata-confirm-btn"]').first().click()
    await page.waitForTimeout(1_000)
    await page.locator('#dso-save-btn').first().click()
    await walker.sees('Metadata saved')

    await walker.open(`/items/${item.uuid}/bitstreams/new`)
    await page.locator('ds-dso-input-suggestions input').fill('ORIGINAL')
    await walker.settle()
    await page.locator('ds-dso-input-suggestions .dropdown-item').first().click()
    await walker.settle()
    await page
      .locator('ds-uploader input[type=file]')
      .first()
      .setInputFiles({
        name: 'map.txt',
        mimeType: 'text/plain',
        buffer: Buffer.from('where it was'),
      })
    await walker.settle()
    await walker.open(`/items/${item.uuid}/full`)
    await walker.sees('Letters from the mountains', 'map.txt')
    await walker.open(`${edit}/bitstreams`)
    await walker.sees('map.txt')
    await walker.open(`${edit}/authorizations`)
    await walker.sees('Anonymous')

    for (const [action, said] of [
      ['withdraw', 'The item was withdrawn successfully'],
      ['reinstate', 'The item was reinstated successfully'],
      ['private', 'The item is now non-discoverable'],
      ['public', 'The item is now discoverable'],
    ] as const) {
      await walker.open(`${edit}/${action}`)
      await page.locator('button.perform-action').first().click()
      await walker.sees(said)
    }
    walker.assertNoFailures()
  })

  test(`S5 S7 S8 PR1 an administrator’s other pages open and none of them waits for ever (${name})`, async t => {
    const { person } = await start(t, folder)
    const walker = await person()
    const { page } = walker
    await walker.logIn(admin)
    for (const [path, said] of [
      ['/processes', 'Processes'],
      ['/processes/new', 'Create a new process'],
      ['/subscriptions', 'Subscriptions'],
      ['/health', 'Store'],
      ['/access-control/epeople', 'EPeople'],
      ['/access-control/groups', 'Administrator'],
      ['/admin/registries/metadata', 'dc'],
      ['/admin/registries/bitstream-formats', 'Text'],
    ] as const) {
      await walker.open(path)
      await walker.sees(said)
      assert.equal(await walker.spins(), false, path)
    }
    await walker.open('/admin/system-wide-alert')
    await page.locator('textarea').first().fill('Back at noon')
    await page.waitForTimeout(1_000)
    await page.locator('.switch, ui-switch button, button[role=switch]').first().click()
    await walker.press('Save')
    await walker.settle()
    await walker.open('/home')
    await walker.sees('Back at noon')
    walker.assertNoFailures()
  })
}
