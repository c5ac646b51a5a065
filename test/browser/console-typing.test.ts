import assert from 'node:assert/strict'
import { button, openArchive } from '../support/clients/console.ts'
import { isLong, repeats } from '../support/scale.ts'
import { testOn } from '../support/service/engines.ts'

/** Time in ms after which a page on a busy machine has its first frame. */
const late = repeats(150, 250)

testOn('sqlite', 'CO6 what is typed before the next frame, and while a search is asked, stays', async t => {
  const { desk, page, item } = await openArchive(t)
  // Preact runs deferred work in a frame, or after 35 ms.
  await page.addInitScript(delay => {
    const wait = setTimeout
    globalThis.requestAnimationFrame = run => Number(wait(() => run(performance.now()), delay))
    globalThis.setTimeout = ((run: () => void, time?: number, ...more: unknown[]) =>
      wait(run, time === 35 ? delay : time, ...more)) as typeof setTimeout
  }, late)

  await desk.open(`admin/items/${item.uuid}`)
  await button(page, 'Allow someone else').click()
  await page.getByLabel('Who', { exact: true }).selectOption('group')
  // The field has only just appeared.
  await page.getByRole('combobox', { name: 'Name or UUID of a group' }).fill('Readers')
  await page.getByRole('option', { name: 'Readers' }).waitFor()

  // The list of values has a form of its own; the other pages share one.
  const forms = [
    [`admin/items/${item.uuid}`, 'Value of line 1'],
    ['admin/people?q=ruth', ''],
    ['admin/entities/letters', 'What these records are, for readers'],
    ['admin/system/alert', 'Message'],
  ] as const
  for (const [path, label] of isLong ? forms : forms.slice(0, 2)) {
    await desk.open(path)
    if (label === '') {
      await page.getByRole('link', { name: 'Test Person' }).click()
      await page.getByLabel('First name').fill('typed')
    } else await page.getByLabel(label).fill('typed')
    await page.waitForTimeout(2 * late)
    const field = page.getByLabel(label || 'First name')
    assert.equal(await field.inputValue(), 'typed', path)
  }

  // The search begins after a pause, and no letter typed in between is lost.
  await desk.open('admin/people')
  const search = page.getByRole('searchbox')
  await search.pressSequentially('ru')
  await page.waitForURL(/q=ru$/)
  await search.pressSequentially('th@ex')
  await page.waitForURL(/q=ruth/)
  await page.waitForTimeout(2 * late)
  assert.equal(await search.inputValue(), 'ruth@ex')
  await page.goBack()
  desk.assertQuiet()
})
