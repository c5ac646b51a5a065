import assert from 'node:assert/strict'
import {
  assertAccessible,
  assertFits,
  button,
  dialog,
  openArchive,
  phone,
  said,
  settled,
  takePicture,
} from '../support/clients/console.ts'
import { list } from '../support/clients/listings.ts'
import { testOn } from '../support/service/engines.ts'

testOn(
  'sqlite',
  'CO8 EA11 an administrator makes a collection without a file, and describes its fields for readers',
  async t => {
    const { service, desk, page } = await openArchive(t)
    await desk.open('admin/entities')
    await page.getByRole('link', { name: 'New collection' }).click()
    await page.getByRole('heading', { level: 1, name: 'New collection' }).waitFor()
    await page.getByLabel('Collection of records', { exact: true }).fill('loans')
    await page.getByLabel('Who may read').selectOption('anonymous')
    await page.getByLabel('Field', { exact: true }).nth(1).fill('state')
    await page.getByText('More about state').click()
    const state = page.getByRole('listitem').filter({ hasText: 'More about state' })
    await state.getByLabel('Label').fill('State')
    await state.getByLabel('Required').check()
    await state.getByLabel('One of these values').fill('out\nback')
    await state.getByLabel('Default').fill('lost')
    await settled(page)
    await assertAccessible(page, 'the form of a new collection')
    await takePicture(page, 'new-collection-1440-light')

    // What can't be is said at its field.
    desk.expectRefusals()
    await button(page, 'Make the collection').click()
    await state.getByText('is none of its values').waitFor()
    await state.getByLabel('Default').fill('out')
    await button(page, 'Add a field').click()
    await page.getByLabel('Field', { exact: true }).nth(2).fill('height')
    await page.getByLabel('Type').nth(2).selectOption('number')
    await button(page, 'Make the collection').click()
    await said(page, 'loans is there.')
    await page.getByRole('heading', { level: 1, name: 'loans' }).waitFor()

    await page.getByRole('button', { name: 'Describe: height' }).click()
    const form = dialog(page)
    await form.getByLabel('Label').fill('Height')
    await form.getByLabel('Unit').fill('cm')
    await form.getByLabel('Help').fill('Without the frame.')
    await settled(page)
    await assertAccessible(page, 'the form of a field')
    await takePicture(page, 'describe-field-1440-light')
    await button(form, 'Save').click()
    await said(page, 'Saved')
    const described = await list<{ name: string; fields: object[] }>(service.client(), '')
    assert.deepEqual(described.find(({ name }) => name === 'loans')?.fields, [
      { name: 'id', type: 'integer', nullable: false },
      {
        ...{ name: 'state', type: 'text', nullable: false, label: 'State' },
        ...{ required: true, default: 'out', oneOf: ['out', 'back'] },
      },
      {
        name: 'height',
        type: 'number',
        nullable: false,
        label: 'Height',
        help: 'Without the frame.',
        unit: 'cm',
      },
    ])
    await takePicture(page, 'entity-fields-1440-light')
  },
)

testOn('sqlite', 'CO8 the forms of fields fit a phone, in the dark', async t => {
  const { desk, page } = await openArchive(t, { size: phone, theme: 'dark' })
  await desk.open('admin/new-entity')
  await page.getByText('More about id').click()
  await settled(page)
  await assertFits(page, 'the form of a new collection')
  await assertAccessible(page, 'the form of a new collection, dark')
  await takePicture(page, 'new-collection-360-dark')
})
