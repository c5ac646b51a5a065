import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { examplesIn, follow, shownAddress } from '../support/clients/document.ts'
import { startDemoService } from '../support/data/demo.ts'
import { testOn } from '../support/service/engines.ts'
import { repository } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'

/** Starts a service with the demo data of `npm start`, for the documents that newcomers read first. */
async function startDemo(t: TestContext) {
  const service = await startDemoService(t, { env: { CARREL_BASE_URL: shownAddress } })
  return { service, folder: temporaryFolder(t) }
}

const commandsIn = (path: string) => examplesIn(path).filter(({ language }) => language === 'sh')

testOn(
  'sqlite',
  'D1 Q14 Q22 F1 every command of the README works on the files of the repository',
  async t => {
    const { service, folder } = await startDemo(t)
    symlinkSync(join(repository, 'examples'), join(folder, 'examples'))
    const [start, ...commands] = commandsIn('README.md')
    assert.match(start?.text ?? '', /npm start/)
    const given = await follow(service, commands, { folder, isStrict: true })
    const [page = '', query = '', closed = '', file = '', records = '', items = ''] = given
    assert.equal((JSON.parse(page) as readonly object[]).length, 3)
    assert.deepEqual((JSON.parse(query) as readonly object[])[0], { place: 'Leiden', count: 69 })
    assert.equal((JSON.parse(closed) as readonly object[]).length, 3)
    assert.match(file, /^Ibsen to Järvi, Örebro, 1869\n\nDear friend/)
    assert.match(records, /"name":"Armillary sphere"/)
    assert.match(items, /2 added/)
  },
)

testOn('sqlite', 'D1 L1 Q1 Q14 F3 every command of the tutorial works', async t => {
  const { service, folder } = await startDemo(t)
  const [start, ...commands] = commandsIn('docs/tutorial.md')
  assert.match(start?.text ?? '', /npm start/)
  // The reader has to fill in the UUID.
  const set = commands.map(one => ({
    ...one,
    text: one.text.replace(
      'BITSTREAM=…',
      `BITSTREAM=$(carrel item show letter-1 | grep -oE '[0-9a-f-]{36}' | tail -1)`,
    ),
  }))
  // Two commands show a refusal.
  const refused = set.map(one =>
    /yaer|CURATOR=/.test(one.text) ? { ...one, text: one.text.replaceAll('curl ', 'lenient_curl ') } : one,
  )
  const given = await follow(service, refused, { folder, isStrict: true })
  const outputOf = (containing: string) =>
    given[commands.findIndex(({ text }) => text.includes(containing))] ?? ''
  assert.match(outputOf('authn/status'), /"authenticated":true/)
  assert.match(outputOf('yaer'), /Did you mean \\"year\\"/)
  assert.deepEqual(JSON.parse(outputOf('loans > 20')), [
    { author: 'Austen, Jane', title: 'Pride and Prejudice', loans: 41 },
    { author: 'Dostoyevsky, Fyodor', title: 'Crime and Punishment', loans: 29 },
  ])
  assert.match(outputOf('carrel ingest'), /letter-2/)
  assert.match(outputOf('authn/logout'), /^HTTP\/1.1 204/)
})
