import assert from 'node:assert/strict'
import { assertInWords, button, openArchive, settled } from '../support/clients/console.ts'
import { testOn } from '../support/service/engines.ts'

testOn(
  'sqlite',
  'CO4 each page has the title by which the navigation calls it, in every language',
  async t => {
    const { desk, page } = await openArchive(t)
    for (const [language, looks, pages] of [
      ['English', 'Appearance, Language', 'Pages'],
      ['Deutsch', 'Appearance, Language', 'Seiten'],
    ] as const) {
      await page.getByRole('button', { name: looks }).click()
      await page.getByRole('button', { name: language }).click()
      await page.keyboard.press('Escape')
      const links = page.getByRole('navigation', { name: pages, exact: true }).getByRole('link')
      await links.first().waitFor()
      for (const link of await links.all()) {
        const name = await link.innerText()
        await link.click()
        await page.getByRole('heading', { level: 1, name, exact: true }).waitFor()
        await settled(page)
        await assertInWords(page, `${name}, in ${language}`)
      }
    }
    // The kinds of events are in the words of the page, and the address keeps the API's term.
    await page.getByRole('link', { name: 'Protokoll' }).first().click()
    await page.getByLabel('Ereignis').selectOption('Person in eine Gruppe aufnehmen')
    await page.waitForURL(/event=group\.join/)
    await page
      .getByRole('link', { name: /Uhr|UTC/ })
      .first()
      .click()
    await page.getByRole('heading', { level: 1, name: 'Person in eine Gruppe aufnehmen' }).waitFor()
    await page.getByText('group.join', { exact: true }).waitFor()
    await assertInWords(page, 'an event')
    // A problem is told in the language of the page; its code is there for those who look for it.
    desk.expectRefusals()
    await desk.open('admin/people/nobody')
    await page.getByRole('heading', { name: 'Hier ist nichts' }).waitFor()
    await assertInWords(page, 'a person who is gone')
    assert.equal(await page.getByText('not-found, Status 404').isVisible(), false)
    await page.getByText('Für alle, die diesen Dienst betreuen').click()
    await page.getByText('not-found, Status 404').waitFor()
    assert.equal(await button(page, 'Noch einmal versuchen').isVisible(), true)
    desk.assertQuiet()
  },
)
