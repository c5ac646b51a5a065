import assert from 'node:assert/strict'
import { administrator, curator, reader } from '../support/data/interface-world.ts'
import { passwordOf } from '../support/service/service.ts'
import { builds, enabled, type Walker } from './dspace-interface.ts'
import { save, walk } from './dspace-walk.ts'

for (const folder of builds) {
  walk('Z1 F1 anybody reads what is open, and nothing else', 'anybody', folder, async one => {
    const { walker, page, uuidOf, item } = one
    await walker.open('/home')
    await walker.open(item)
    await walker.sees('Letters from the coast', 'open.txt')
    await walker.open(`${item}/full`)
    await walker.sees('dc.title', 'open.txt')
    const text = await walker.text()
    for (const name of ['restricted.txt', 'embargoed.txt']) assert.ok(!text.includes(name), name)
    assert.equal(await walker.downloads(uuidOf('open.txt')), 'open to all')
    await walker.open('/handle/123456789/7')
    await walker.sees('Letters from the coast')
    for (const name of ['restricted.txt', 'embargoed.txt']) {
      walker.expects(401, `/api/core/bitstreams/${uuidOf(name)}`)
      await walker.open(`/bitstreams/${uuidOf(name)}/download`)
      await page.waitForURL(/\/login$/)
    }
    // Pages that need rights lead to the login.
    for (const path of ['/profile', '/processes', '/access-control/epeople', `${item}/edit/metadata`]) {
      await walker.open(path)
      await page.waitForURL(/\/login$/)
    }
    for (const [path, said] of [
      ['/community-list', 'Communities'],
      ['/search?query=letters', 'Search'],
      ['/info/privacy', ''],
    ] as const) {
      await walker.open(path)
      await walker.sees(said)
      assert.equal(await walker.spins(), false, path)
    }
  })

  walk(
    'L1 L3 F1 a reader logs in, stays so, downloads what they may, and logs out',
    'reader',
    folder,
    async ({ walker, page, uuidOf, item }) => {
      walker.expects(401, '/api/authn/login')
      await walker.tryLogIn(reader, 'wrong')
      await walker.sees('Invalid email address or password')
      await walker.logIn(reader)
      await walker.open(item)
      await walker.sees('restricted.txt')
      await walker.open(`${item}/full`)
      await walker.sees('restricted.txt')
      assert.ok(!(await walker.text()).includes('embargoed.txt'))
      assert.equal(await walker.downloads(uuidOf('restricted.txt')), 'for readers')
      walker.expects(403, `/api/core/bitstreams/${uuidOf('embargoed.txt')}`)
      await walker.open(`/bitstreams/${uuidOf('embargoed.txt')}/download`)
      await walker.sees('Forbidden')
      await page.reload()
      await walker.settle()
      assert.equal(await walker.isLoggedIn(), true, 'after a reload')
      await walker.sends('POST /api/authn/login')
      assert.equal(await walker.isLoggedIn(), true, 'after a refresh')
      await walker.open('/profile')
      await walker.sees('Readers')
      assert.equal(await page.locator('input#firstname').inputValue(), 'Test')
      for (const path of ['/access-control/epeople', '/health', `${item}/edit/metadata`]) {
        await walker.open(path)
        await walker.sees('Forbidden')
      }
      for (const [path, said] of [
        ['/subscriptions', 'Subscriptions'],
        ['/mydspace', 'Show'],
      ] as const) {
        await walker.open(path)
        await walker.sees(said)
        assert.equal(await walker.spins(), false, path)
      }
      await walker.logOut()
      await walker.open(`${item}/full`)
      assert.ok(!(await walker.text()).includes('restricted.txt'))
    },
  )

  walk(
    'M2 T6 a profile and a password are changed, and the session goes on',
    'profile',
    folder,
    async ({ walker, page }) => {
      await walker.logIn(reader)
      await walker.open('/profile')
      await walker.fill({ 'input#firstname': 'Ruth', 'input#phone': '+49 30 1234' })
      await walker.sends('PATCH /api/eperson/epersons/', async () => {
        await walker.press('Save')
        await walker.sees('Profile saved')
      })
      await walker.fill({
        'input#current-password': passwordOf(reader),
        'input#password': 'quite another one',
        'input#passwordrepeat': 'quite another one',
      })
      await walker.press('Save')
      await walker.sees('Password saved')
      await walker.open('/profile')
      assert.equal(await walker.isLoggedIn(), true)
      assert.equal(await page.locator('input#firstname').inputValue(), 'Ruth')
      assert.equal(await page.locator('input#phone').inputValue(), '+49 30 1234')
    },
  )

  walk(
    'M1 M4 M5 B1 an administrator adds, changes and deletes people and groups, and acts as someone',
    'people',
    folder,
    async ({ walker, page, uuidOf }) => {
      await walker.logIn(administrator)
      await walker.open('/access-control/epeople/create')
      await walker.fill({
        'input#firstName': 'Ada',
        'input#lastName': 'Lovelace',
        'input#email': 'ada@example.org',
      })
      await walker.click(save)
      await walker.sees('Successfully created EPerson')
      await walker.open('/access-control/epeople')
      await walker.sees('ada@example.org')
      await walker.edits('ada@example.org')
      await walker.fill({ 'input#lastName': 'King' })
      await walker.click(save)
      await walker.sees('Successfully edited EPerson')

      await walker.open('/access-control/groups/create')
      await walker.fill({
        'input#groupName': 'Mathematicians',
        'textarea#groupDescription': 'Those who calculate',
      })
      await walker.click(save)
      await walker.sees('Successfully created Group')
      await walker.fill({ 'ds-members-list input#query': 'ada@' })
      await walker.click('ds-members-list button.search-button')
      await walker.click('#epersonsSearch tbody tr button')
      await walker.sees('Successfully added member')
      await walker.fill({ 'ds-subgroups-list input#query': 'curators' })
      await walker.click('ds-subgroups-list button.search-button')
      await walker.click('#groupsSearch tbody tr button')
      await walker.sees('Successfully added subgroup')
      await walker.click('#subgroupsOfGroup tbody tr button')
      await walker.sees('Successfully deleted subgroup')
      await walker.fill({ 'textarea#groupDescription': 'Those who prove' })
      await walker.click(save)
      await walker.sees('Successfully edited Group')
      await walker.open('/access-control/groups')
      await walker.sees('Mathematicians')

      await walker.open('/access-control/epeople')
      await walker.edits('ada@example.org')
      await walker.press('Impersonate EPerson')
      await walker.open('/profile')
      await walker.sees('Mathematicians')
      assert.equal(await page.locator('input#firstname').inputValue(), 'Ada')
      await walker.click('ds-impersonate-navbar button')
      await walker.open('/access-control/epeople')
      await walker.sees('ada@example.org')

      await walker.edits('ada@example.org')
      // Version 9 requests the deleted eperson once more.
      const ada = new URL(page.url()).pathname.split('/').at(-2)
      walker.expects(404, `/api/eperson/epersons/${ada}`)
      await walker.click('ds-eperson-form button.delete-button')
      await walker.click('.modal-content .confirm, .modal-content #confirmOK, ngb-modal-window .btn-danger')
      await walker.sees('Successfully deleted EPerson')
      await walker.open('/access-control/groups')
      await walker.click(
        'tr:has-text("Mathematicians") a, tr:has-text("Mathematicians") .btn-outline-primary',
      )
      await walker.click('ds-group-form button.delete-button')
      await walker.click('ngb-modal-window .btn-danger')
      await walker.sees('Successfully deleted group')
      await walker.open(`/access-control/groups/${uuidOf('Readers')}/edit`)
      await walker.sees(reader)
      assert.equal(await page.locator('input#groupName').inputValue(), 'Readers')
    },
  )

  walk(
    'I13 a curator changes the item that they may write, and nothing beyond',
    'curator',
    folder,
    async ({ walker, uuidOf, has, item }) => {
      await walker.logIn(curator)
      await walker.open(`${item}/edit/status`)
      await walker.sees('Withdraw', 'Letters from the coast')
      await changeTitle(walker, `${item}/edit/metadata`, 'Letters from the mountains')
      await addFile(walker, item, 'map.txt', 'where it was')
      await walker.open(`${item}/edit/bitstreams`)
      await walker.sees('map.txt', 'restricted.txt', 'embargoed.txt')
      await editFile(walker, 'map.txt', 'chart.txt')
      await walker.open(`${item}/full`)
      await walker.sees('Letters from the mountains', 'chart.txt')
      if (has('replace')) {
        await walker.open(`${item}/edit/bitstreams`)
        await replaceFile(walker, 'chart.txt', { name: 'atlas.txt', content: 'where it is by now' })
        await walker.open(`${item}/full`)
        await walker.sees('atlas.txt')
      }
      await deleteFile(walker, item, has('replace') ? 'atlas.txt' : 'chart.txt')
      await changeState(walker, item)
      for (const path of [`${item}/edit/authorizations`, `${item}/edit/delete`]) {
        await walker.open(path)
        await walker.sees('Forbidden')
      }
      await walker.open(`/bitstreams/${uuidOf('open.txt')}/edit`)
      await walker.sees('open.txt')
      await walker.open('/access-control/groups')
      await walker.sees('Forbidden')
    },
  )

  walk(
    'I2 I7 I4 an administrator changes an item and its files, and deletes it',
    'item',
    folder,
    async ({ walker, page, has, item }) => {
      await walker.logIn(administrator)
      await walker.open(`${item}/edit/status`)
      await walker.sees('Withdraw', 'Permanently delete')
      // The interface doesn't offer features that Carrel lacks.
      for (const tab of ['Curate', 'Relationships', 'Version History', 'Access Control', 'Collection Mapper'])
        assert.equal(await page.locator(`a.nav-link:has-text("${tab}")`).count(), 0, tab)
      await changeTitle(walker, `${item}/edit/metadata`, 'Letters from the mountains')
      await addFile(walker, item, 'map.txt', 'where it was')
      await walker.open(`${item}/full`)
      await walker.sees('Letters from the mountains', 'map.txt')
      await changeState(walker, item)
      await walker.open(`${item}/edit/delete`)
      await walker.click('button.perform-action')
      // Since version 10, the interface asks for confirmation and runs a script.
      if (has('audit')) {
        await walker.click('ngb-modal-window .btn-danger')
        await walker.sees('Successfully started a process', 'object-deletion', 'COMPLETED')
      } else await walker.sees('The item has been deleted')
      walker.expects(404, `/api/core${item}?`)
      await walker.open(item)
      await walker.sees('Page not found')
    },
  )

  walk(
    'I12 an administrator adds, changes and deletes policies of an item and of a file',
    'policies',
    folder,
    async ({ walker, uuidOf, item }) => {
      await walker.logIn(administrator)
      const policies = `${item}/edit/authorizations`
      await walker.open(policies)
      await walker.sees('Anonymous', 'Curators')
      await addPolicy(walker, 'Readers')
      await walker.open(policies)
      await walker.sees('Readers')
      await changePolicy(walker, 'Readers')
      await walker.open(policies)
      await walker.sees('2999-12-31')
      // The interface requests the group of the policy once more.
      walker.expects(404, `/api/authz/resourcepolicies/${uuidOf('item')}_`)
      await walker.sends('DELETE /api/authz/resourcepolicies', () => deletePolicy(walker, 'Readers'))
      await walker.open(policies)
      await walker.sees('Curators')
      assert.ok(!(await walker.text()).includes('2999-12-31'))
      const ofFile = `/bitstreams/${uuidOf('open.txt')}/authorizations`
      await walker.open(ofFile)
      await walker.sees('Anonymous')
      await addPolicy(walker, 'Curators')
      await walker.open(ofFile)
      await walker.sees('Curators')
    },
  )

  walk(
    'S5 S7 S8 PR1 PR3 an administrator’s other pages open, and none of them waits for ever',
    'administrator',
    folder,
    async ({ walker, page, has, item }) => {
      await walker.logIn(administrator)
      await walker.open('/processes/new')
      await walker.sees('Create a new process')
      await walker.click('ds-scripts-select input, ds-scripts-select [ngbdropdowntoggle]')
      await walker.click('.dropdown-item:has-text("verify")')
      await walker.click('ds-process-form button[type=submit]')
      await walker.sees('verify')
      await walker.open('/processes')
      await walker.sees('Processes', 'verify')
      await walker.open('/processes/1')
      await walker.sees('COMPLETED')
      await walker.click('#showOutputButton')
      // The interface requests the deleted process once more.
      walker.expects(404, '/api/system/processes/1?')
      await walker.click('button#delete')
      await walker.click('#delete-confirm')
      await walker.sees('successfully deleted')

      if (has('audit')) {
        await walker.open('/auditlogs')
        await walker.sees('process.start', 'login', 'Test Person')
        await walker.open(`${item}/auditlogs`)
        await walker.sees('item.add', 'item.access')
      }
      for (const [path, said] of pagesOfAdministrators) {
        await walker.open(path)
        await walker.sees(said)
        assert.equal(await walker.spins(), false, path)
      }
      await walker.open('/admin/system-wide-alert')
      await walker.fill({ 'textarea#formMessage': 'Back at noon' })
      await page.locator('ui-switch button, button[role=switch]').first().click()
      await walker.press('Save')
      await walker.sees('success')
      await walker.open('/home')
      await walker.sees('Back at noon')
      await walker.open('/admin/system-wide-alert')
      await page.locator('ui-switch button, button[role=switch]').first().click()
      await walker.press('Save')
      await walker.settle()
      await walker.open('/home')
      await walker.seesNo('Back at noon')
    },
  )
}

/** Pages of administrators, each with a text on it. */
const pagesOfAdministrators = [
  ['/health', 'Store'],
  ['/subscriptions', 'Subscriptions'],
  ['/access-control/epeople', 'EPeople'],
  ['/access-control/groups', 'Administrator'],
  ['/access-control/bulk-access', 'Bulk'],
  ['/admin/registries/metadata', 'dc'],
  ['/admin/registries/metadata/dc', 'dc.contributor.author'],
  ['/admin/registries/bitstream-formats', 'Text'],
  ['/admin/search', ''],
  ['/admin/workflow', ''],
  ['/admin/curation-tasks', ''],
  ['/admin/metadata-import', ''],
  ['/admin/batch-import', ''],
  ['/admin/reports/collections', ''],
  ['/admin/ldn/services', ''],
  ['/notifications/quality-assurance', ''],
  ['/mydspace', ''],
  ['/community-list', ''],
] as const

async function changeTitle(walker: Walker, path: string, title: string): Promise<void> {
  const { page } = walker
  await walker.open(path)
  await walker.sees('dc.title')
  await page.locator('[data-test="metadata-edit-btn"]').first().click()
  await page.locator('ds-dso-edit-metadata-value .ds-value-cell textarea').first().fill(title)
  await page.locator('[data-test="metadata-confirm-btn"]').first().click()
  await walker.sends('PATCH /api/core/items/', () => walker.click(`#dso-save-btn${enabled}`))
  await walker.sees('Metadata saved')
}

async function addFile(walker: Walker, item: string, name: string, content: string): Promise<void> {
  await walker.open(`${item}/bitstreams/new`)
  await walker.page.locator('ds-dso-input-suggestions input').fill('ORIGINAL')
  await walker.settle()
  await walker.click('ds-dso-input-suggestions .dropdown-item')
  await choose(walker, { name, content })
  await walker.settle()
}

async function choose(walker: Walker, { name, content }: { name: string; content: string }): Promise<void> {
  const file = { name, mimeType: 'text/plain', buffer: Buffer.from(content) }
  await walker.page.locator('ds-uploader input[type=file]').first().setInputFiles(file)
}

const rowOf = (name: string) => `tr.bitstream-row:has-text("${name}")`

async function editFile(walker: Walker, name: string, after: string): Promise<void> {
  await walker.click(`${rowOf(name)} button:has(.fa-edit)`)
  await walker.fill({ 'input#fileName': after, 'textarea#description': 'A map' })
  await walker.click(save)
  await walker.sees('saved')
}

async function replaceFile(
  walker: Walker,
  name: string,
  by: { name: string; content: string },
): Promise<void> {
  await walker.click(`${rowOf(name)} button:has(.fa-retweet)`)
  await walker.sees(`Replace ${name}`)
  await choose(walker, by)
  await walker.click('button.save-button')
  await walker.sees('Bitstream successfully replaced', by.name)
}

async function deleteFile(walker: Walker, item: string, name: string): Promise<void> {
  await walker.open(`${item}/edit/bitstreams`)
  await walker.click(`${rowOf(name)} button:has(.fa-trash-alt)`)
  await walker.press('Save')
  await walker.settle()
  await walker.seesNo(name)
}

async function changeState(walker: Walker, item: string): Promise<void> {
  for (const [action, said] of [
    ['withdraw', 'The item was withdrawn successfully'],
    ['reinstate', 'The item was reinstated successfully'],
    ['private', 'The item is now non-discoverable'],
    ['public', 'The item is now discoverable'],
  ] as const) {
    await walker.open(`${item}/edit/${action}`)
    await walker.page.locator('button.perform-action').first().click()
    await walker.sees(said)
  }
}

async function addPolicy(walker: Walker, group: string): Promise<void> {
  const { page } = walker
  await walker.click('ds-resource-policies button.btn-success')
  await walker.fill({ 'input#name': 'For readers' })
  await page.locator('select#policyType, #policyType select').first().selectOption({ label: 'TYPE_CUSTOM' })
  await page.locator('select#action, #action select').first().selectOption({ label: 'READ' })
  await walker.click('ds-resource-policy-form a.nav-link:has-text("group")')
  await walker.click(`tr:has-text("${group}") button`)
  await page.waitForTimeout(1_000)
  await walker.sends('POST /api/authz/resourcepolicies', () => savePolicy(walker))
}

async function changePolicy(walker: Walker, group: string): Promise<void> {
  await walker.click(`ds-resource-policies tbody tr:has-text("${group}") button:has(.fa-edit)`)
  await walker.fill({ 'textarea#description': 'Until then', 'input#end, #end input': '2999-12-31' })
  await walker.sends('PATCH /api/authz/resourcepolicies', () => savePolicy(walker))
}

async function savePolicy(walker: Walker): Promise<void> {
  await walker.click(`ds-resource-policy-form button.btn-primary:has-text("Save")${enabled}`)
  await walker.sees('Operation successful')
}

async function deletePolicy(walker: Walker, group: string): Promise<void> {
  await walker.click(`ds-resource-policies tbody tr:has-text("${group}") input[type=checkbox]`)
  await walker.click('ds-resource-policies button.btn-danger')
}
