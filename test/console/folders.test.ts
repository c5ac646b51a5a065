import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { button, openArchive } from '../support/clients/console.ts'
import { atEnd } from '../support/service/at-end.ts'
import { testOn } from '../support/service/engines.ts'

testOn('sqlite', 'CO8 a folder of items is ingested as an archive of it would be', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-test-folder-'))
  atEnd(t, () => rmSync(folder, { recursive: true, force: true }))
  // The name is too long for the old tar format, and has letters that it can't encode.
  const name = `${'Übersicht über die Briefe '.repeat(5)}1.txt`
  mkdirSync(join(folder, 'first'))
  const title = '<dcvalue element="title">From a folder</dcvalue>'
  writeFileSync(join(folder, 'first/dublin_core.xml'), `<dublin_core>${title}</dublin_core>`)
  writeFileSync(join(folder, 'first/contents'), `${name}\n`)
  writeFileSync(join(folder, 'first', name), 'a'.repeat(1_500))
  const { service, desk, page } = await openArchive(t)
  await desk.open('admin/ingest')
  const [chooser] = await Promise.all([
    page.waitForEvent('filechooser'),
    button(page, 'Choose a folder…').press('Enter'),
  ])
  await chooser.setFiles(folder)
  await page.getByText(/carrel-test-folder-\w+\.tar/).waitFor()
  await page.getByLabel('Who may read the items').selectOption('anonymous')
  await page.getByLabel('Only say what would happen').uncheck()
  await button(page, 'Ingest an archive').click()
  await page.getByRole('main').getByText('completed').waitFor()
  const ask = async (query: string) =>
    (await (
      await service.client().get(`/api/query/v4?${new URLSearchParams({ query })}`)
    ).json()) as unknown[]
  assert.equal((await ask('items { title = "From a folder" }')).length, 1)
  assert.deepEqual(await ask(`bitstreams[name, size] { size = 1500 }`), [{ name, size: 1500 }])
  desk.assertQuiet()
})
