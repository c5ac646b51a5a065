import assert from 'node:assert/strict'
import { assertCount, openPage } from '../support/clients/browser.ts'
import { assertAccessible } from '../support/clients/console.ts'
import { testOn } from '../support/service/engines.ts'
import { asTerminal, entry, serve } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'

testOn(
  'sqlite',
  'L11 CO6 a newcomer sees the demo’s letters at once, and is logged in once by the link on the terminal',
  async t => {
    const served = await serve(t, temporaryFolder(t), {
      args: ['--demo'],
      program: [process.execPath, '--import', asTerminal('stderr'), entry],
    })
    await served.said(/^README\.md says/m)
    const [link = ''] = /http:\S+#link=\S+/.exec(served.output.stderr) ?? []
    const page = await openPage(t, { width: 1440, height: 900 })
    await page.goto(new URL(link).origin)
    await page.getByRole('main').getByRole('link', { name: 'letters' }).click()
    await page.getByText('of 10,000').waitFor()
    assert.equal(await page.getByRole('link', { name: 'appraisals' }).count(), 0)
    await page.goto(link)
    await page.getByRole('link', { name: 'appraisals' }).first().waitFor()
    await page.getByText('Ada Admin').first().waitFor()
    assert.ok(!page.url().includes('link='))
    await page.goBack()
    assert.ok(!page.url().includes('link='), 'nor in the history')

    const other = await openPage(t, { width: 360, height: 800 })
    await other.goto(link)
    await other.getByText('This link has been used').waitFor()
    await assertAccessible(other, 'a used link')
    await assertCount(other.getByLabel('Password', { exact: true }), 1)
  },
)
