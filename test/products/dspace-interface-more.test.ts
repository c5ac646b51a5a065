import assert from 'node:assert/strict'
import { administrator, curator, reader } from '../support/data/interface-world.ts'
import { builds, enabled, type Walker } from './dspace-interface.ts'
import { save, walk } from './dspace-walk.ts'

const rowOf = (name: string) => `tr.bitstream-row:has-text("${name}")`
const isPrimary = 'input#primaryBitstream, #primaryBitstream input'
const fresh = 'quite another one'

for (const folder of builds) {
  walk(
    'I9 a curator says which file stands for all, what it is, and in which order files are',
    'files',
    folder,
    async ({ walker, page, uuidOf, item }) => {
      await walker.logIn(curator)
      const edit = `/bitstreams/${uuidOf('open.txt')}/edit`
      await walker.open(edit)
      await page.locator(isPrimary).first().click()
      await walker.fill({ 'textarea#description': 'The first letter' })
      await walker.sends(`POST /api/core/bundles/${uuidOf('ORIGINAL')}/primaryBitstream`, () =>
        walker.click(save),
      )
      await walker.sees('Your changes to this bitstream were saved.')
      await walker.open(edit)
      await chooseFormat(walker, 'Adobe PDF')
      await walker.sends(`PUT /api/core/bitstreams/${uuidOf('open.txt')}/format`, () => walker.click(save))
      await walker.open(`${item}/edit/bitstreams`)
      await walker.sees('The first letter', 'Adobe PDF')
      await walker.sends(`PATCH /api/core/bundles/${uuidOf('ORIGINAL')}`, () => moveDown(walker, 'open.txt'))
      await walker.open(`${item}/edit/bitstreams`)
      const rows = await page.locator('tr.bitstream-row .bitstream-name').allInnerTexts()
      assert.deepEqual(
        rows.map(row => row.trim()),
        ['restricted.txt', 'open.txt', 'embargoed.txt'],
      )
      await walker.open(edit)
      await page.locator(isPrimary).first().click()
      await walker.sends(`DELETE /api/core/bundles/${uuidOf('ORIGINAL')}/primaryBitstream`, () =>
        walker.click(save),
      )
    },
  )

  walk(
    'S6 an administrator registers a schema with a field, uses it in the editor of items, and deletes both',
    'registry',
    folder,
    async ({ walker, page, uuidOf, item }) => {
      await walker.logIn(administrator)
      await walker.open('/admin/registries/metadata')
      await walker.fill({ 'input#namespace': 'https://example.org/terms/', 'input#name': 'local' })
      await walker.sends('POST /api/core/metadataschemas', () => walker.click(save))
      await walker.sees('Successfully created metadata schema "local"')
      await walker.open('/admin/registries/metadata/local')
      await walker.fill({ 'input#element': 'shelf', 'input#qualifier': 'mark' })
      await walker.sends('POST /api/core/metadatafields?schemaId=', () => walker.click(save))
      await walker.sees('Successfully created metadata field "shelf.mark"', 'local.shelf.mark')
      await walker.click('td.selectable-row:has-text("local.shelf.mark")')
      await walker.fill({ 'textarea#scopeNote': 'Where the original is' })
      await walker.sends('PUT /api/core/metadatafields/', () => walker.click(save))
      await walker.sees('Successfully edited metadata field "shelf.mark"', 'Where the original is')

      await walker.open(`${item}/edit/metadata`)
      await typeField(walker, 'local.shelf.unknown', 'Q 7')
      await walker.sees('Please choose a valid metadata field')
      await walker.open(`${item}/edit/metadata`)
      await typeField(walker, 'local.shelf.mark', 'Q 7')
      await walker.sends(`PATCH /api/core/items/${uuidOf('item')}`, () =>
        walker.click(`#dso-save-btn${enabled}`),
      )
      await walker.sees('Metadata saved', 'local.shelf.mark')

      await walker.open('/admin/registries/metadata/local')
      await page.locator('#metadata-fields tbody input[type=checkbox]').first().check()
      await walker.sends('DELETE /api/core/metadatafields/', () => walker.press('Delete selected'))
      await walker.sees('Successfully deleted 1 metadata fields')
      await walker.open('/admin/registries/metadata')
      await page.locator('tr:has-text("local") input[type=checkbox]').first().check()
      await walker.sends('DELETE /api/core/metadataschemas/', () => walker.press('Delete selected'))
      await walker.sees('Successfully deleted 1 metadata schemas')
      await walker.open(`${item}/edit/metadata`)
      await walker.sees('local.shelf.mark')
    },
  )

  walk(
    'V1 V2 someone registers by mail, and someone else sets a password that they have forgotten',
    'mails',
    folder,
    async ({ walker, page, mails }) => {
      const tokenPage = async (number: number) => new URL((await mails.mail(number)).links[0] ?? '').pathname
      await walker.open('/register')
      await walker.fill({ 'input#email': 'ada@example.org' })
      await walker.press('Register')
      await walker.sees('Verification email sent')
      await walker.open(await tokenPage(1))
      await page.locator('input#user-agreement-accept').check()
      await walker.press('Save')
      await walker.settle()
      // The interface returns to the address in its settings, but the test serves it at another one.
      await walker.open(await tokenPage(1))
      await walker.sees('ada@example.org')
      await walker.fill({ 'input#firstName': 'Ada', 'input#lastName': 'King' })
      await walker.fill({ 'input#password': fresh, 'input#passwordrepeat': fresh })
      await walker.press('Complete Registration')
      await walker.sees('Registration completed')
      await walker.settle()
      await page.context().clearCookies()
      await walker.open('/forgot')
      await walker.fill({ 'input#email': reader })
      await walker.press('Reset password')
      await walker.sees('Password reset email sent')
      await walker.open(await tokenPage(2))
      await walker.sees(reader)
      await walker.fill({ 'input#password': fresh, 'input#passwordrepeat': fresh })
      await walker.press('Submit password')
      await walker.sees('Password reset completed')
      await walker.settle()
      assert.equal(await walker.isLoggedIn(), true)
    },
    false,
  )
}

/** Adds a line in the metadata editor. */
async function typeField(walker: Walker, field: string, value: string): Promise<void> {
  await walker.click('#dso-add-btn')
  await walker.fill({ 'ds-metadata-field-selector input': field })
  await walker.fill({ 'ds-dso-edit-metadata-value .ds-value-cell textarea': value })
  await walker.click('[data-test="metadata-confirm-btn"]')
}

async function chooseFormat({ page }: Walker, name: string): Promise<void> {
  await page.locator('#selectedFormat').first().click()
  await page.locator(`.dropdown-item:has-text("${name}"), [role=option]:has-text("${name}")`).first().click()
  await page.waitForTimeout(500)
}

/** Moves a row by keyboard: it is picked up, moved and put down. */
async function moveDown(walker: Walker, name: string): Promise<void> {
  const { page } = walker
  const handle = page.locator(`${rowOf(name)} .drag-handle`)
  await handle.focus()
  for (const key of ['Enter', 'ArrowDown', 'Enter']) {
    await page.keyboard.press(key)
    await page.waitForTimeout(500)
  }
  if ((await page.locator('button:visible:not(.disabled)', { hasText: 'Save' }).count()) > 0)
    await walker.press('Save')
}
