import assert from 'node:assert/strict'
import { commandEvent } from '../../src/cli/store.ts'
import { assertAccessible, button, openArchive, settled } from '../support/clients/console.ts'
import { lettersOf, reader } from '../support/data/archive.ts'
import { deleteRecord, putRecord } from '../support/data/record-writes.ts'
import { testOn } from '../support/service/engines.ts'
import { until } from '../support/service/waiting.ts'

testOn(
  'sqlite',
  'CO18 a table holds still, says how many records have changed, and shows them when asked to',
  async t => {
    const { desk, page, service } = await openArchive(t, { as: reader })
    await service.addEperson('writer@example.org')
    await service.storage.entities.changeWriteRule('letters', 'eperson', commandEvent('entity.writers'))
    const writer = service.client()
    await writer.login('writer@example.org')
    const letters = lettersOf(300) as readonly { readonly id: number }[]
    const rows = () => page.locator('tbody tr').allInnerTexts()
    const total = () => page.locator('.pager .number').first().innerText()
    let streams = 0
    page.on('request', request => {
      if (request.url().includes('/changes')) streams++
    })
    await desk.open('entities/letters?size=25')
    const first = await rows()
    await button(page, 'Next page').click()
    await settled(page)
    const second = await rows()
    await button(page, 'Previous page').click()
    await settled(page)
    for (const id of [1, 2]) await deleteRecord(writer, 'letters', id)
    await putRecord(writer, 'letters', 30, { ...letters[29], title: 'Changed by another' })
    await page.getByText('3 records have changed.').waitFor()
    assert.deepEqual(await rows(), first)
    await assertAccessible(page, 'a table with changed records')
    // The next page shows the same state.
    await button(page, 'Next page').click()
    await settled(page)
    assert.deepEqual(await rows(), second)
    assert.match(await total(), /300/)
    assert.equal(streams, 1, 'all pages of a visit are followed by one stream')
    await page.evaluate(() => localStorage.setItem('carrel.language', 'de'))
    await button(page, 'Show them').click()
    await page.getByText('Changed by another').waitFor()
    assert.match(await total(), /298/)
    await until(
      'the notice is gone',
      async () => (await page.getByText('records have changed').count()) === 0,
    )
    // A page that is hidden follows nothing, and catches up when it is seen again.
    const hide = (state: string) =>
      page.evaluate(state => {
        Object.defineProperty(document, 'visibilityState', { value: state, configurable: true })
        document.dispatchEvent(new Event('visibilitychange'))
      }, state)
    await hide('hidden')
    await putRecord(writer, 'letters', 31, { ...letters[30], title: 'Changed again' })
    await hide('visible')
    await page.getByText('One record has changed.').waitFor()
    await desk.open('entities/letters?size=25&page=2')
    await putRecord(writer, 'letters', 32, { ...letters[31], title: 'Und wieder' })
    await page.getByText('Ein Datensatz hat sich geändert.').waitFor()
    await button(page, 'Zeigen').click()
    await page.getByText('Und wieder').waitFor()
    desk.assertQuiet()
  },
)
