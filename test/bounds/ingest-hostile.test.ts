import assert from 'node:assert/strict'
import { readFileSync, rmSync, symlinkSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { commandEvent } from '../../src/cli/store.ts'
import { folderOf } from '../../src/config/files-place.ts'
import { maxReadersBytes } from '../../src/model/items.ts'
import {
  assertCounts,
  dublinCore,
  filesIn,
  ingest,
  itemsIn,
  withoutBar,
  writeFiles,
  writeLetters,
} from '../support/data/archives.ts'
import { asNewItem } from '../support/data/policies.ts'
import { test } from '../support/service/engines.ts'
import { carrel, carrelProcess } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'

const good = { 'dublin_core.xml': dublinCore({ title: 'x' }) }

/** A limit that is a multiple of what the process needs. */
const littleMemory = { NODE_OPTIONS: '--max-old-space-size=160' }

test('a short list of many files exhausts no memory and stops nothing', async t => {
  const service = await startService(t)
  const folder = temporaryFolder(t)
  for (const name of ['a', 'b'])
    writeFiles(join(folder, 'archive', name), { ...good, a: '', contents: 'a\n'.repeat(500_000) })
  writeFiles(join(folder, 'archive/c'), { ...good, a: '', contents: 'a\n'.repeat(9_000) })
  writeFiles(join(folder, 'archive/d'), { ...good, a: '', contents: 'a\n' })
  const rows = ['1', '2'].map(name => `${name},${'a|'.repeat(500_000)}`)
  writeFiles(join(folder, 'table'), {
    'manifest.csv': ['identifier,files', ...rows, `3,${'a|'.repeat(9_000)}`, '4,a'].join('\n'),
    a: '',
  })
  for (const source of ['archive', 'table']) {
    const { code, stdout, stderr } = await carrelProcess(
      service.dataFolder,
      ['ingest', join(folder, source), '--json'],
      { env: littleMemory },
    )
    assert.equal(code, 1, stderr.slice(0, 1_000))
    const report = JSON.parse(stdout)
    assertCounts(report, { added: 1, failed: 3 })
    const reasons = report.failures.map((one: { reason: string }) => one.reason.replace('contents: ', ''))
    const most = 'it has more than 10,000 files'
    assert.deepEqual(reasons.slice(0, 2), [most, most])
    assert.match(reasons[2], /^the bundle ORIGINAL has two files named a;/)
  }
})

test('an item with more readers than a store can keep is bad, and the others are added', async t => {
  const service = await startService(t)
  const groups = Array.from({ length: 40 }, (_, at) => `A group with a name of some length, number ${at}`)
  await service.storage.people.ensureGroups(groups)
  const lines = (count: number) =>
    groups
      .slice(0, count)
      .map(group => `group:${group}\n`)
      .join('')
  const fields = groups.map(group => `\treaders:group:${group}`).join('')
  const source = temporaryFolder(t)
  writeFiles(join(source, 'a-few'), { ...good, readers: lines(30) })
  writeFiles(join(source, 'many'), { ...good, readers: lines(40) })
  writeFiles(join(source, 'many-of-a-file'), { ...good, a: '', contents: `a${fields}\n` })
  writeFiles(join(source, 'none'), good)
  const report = await ingest(service.dataFolder, source)
  assertCounts(report, { added: 2, failed: 2 })
  for (const { reason } of report.failures)
    assert.match(reason, /more than 2000 bytes; put the readers into one group/)

  // Every engine accepts readers up to the limit, and refuses longer ones by name.
  const { repository } = service.storage
  const withReaders = (length: number, own: boolean) => {
    const readers = [{ reader: `group:${'x'.repeat(length - '[{"reader":"group:"}]'.length)}` }]
    return asNewItem({
      identifier: 'x',
      title: null,
      issued: null,
      readers: own ? [] : readers,
      bitstreams: [{ name: 'x', readers: own ? readers : null }],
    })
  }
  for (const own of [false, true]) {
    await assert.rejects(
      async () => repository.putItems([withReaders(maxReadersBytes + 1, own)], commandEvent('item.add'), []),
      /the readers of x take more than 2000 bytes/,
    )
    const [outcome] = await repository.putItems(
      [withReaders(maxReadersBytes, own)],
      commandEvent('item.add'),
      [],
    )
    assert.equal(outcome, own ? 'changed' : 'added')
  }
})

test('the limit of metadata counts all files of an item together', async t => {
  const service = await startService(t)
  const source = temporaryFolder(t)
  const part = (schema: string) => dublinCore({ title: 'x'.repeat(300_000) }, schema)
  const parts = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`metadata_s${at}.xml`, part(`s${at}`)]))
  writeFiles(join(source, 'a'), { ...good, ...parts(3) })
  writeFiles(join(source, 'b'), { ...good, ...parts(4) })
  const collections = Array.from({ length: 1_001 }, (_, at) => `1/${at}\n`).join('')
  writeFiles(join(source, 'c'), { ...good, collections })
  const report = await ingest(service.dataFolder, source)
  assertCounts(report, { added: 1, failed: 2 })
  const [metadata, many] = report.failures
  assert.match(metadata?.reason ?? '', /metadata is larger than 1 MB in total/)
  assert.match(many?.reason ?? '', /more than 1,000 collections/)
})

test('manifest.csv is read from the folder only, whatever it links to', async t => {
  const service = await startService(t)
  const folder = temporaryFolder(t)
  writeFiles(folder, {
    'secret.csv': 'identifier,dc.title\nsecret,of someone else\n',
    'links/item/dublin_core.xml': good['dublin_core.xml'],
  })
  const source = join(folder, 'links')
  for (const [target, says] of [
    [join(folder, 'secret.csv'), /manifest\.csv is a link to a place outside the folder/],
    ['../secret.csv', /manifest\.csv is a link to a place outside the folder/],
    [folder, /manifest\.csv is a link to a place outside the folder/],
    ['item', /manifest\.csv is not a file/],
    ['/dev/zero', /manifest\.csv is a link to a place outside the folder/],
    ['not-there', /there is no file manifest\.csv/],
  ] as [string, RegExp][]) {
    symlinkSync(target, join(source, 'manifest.csv'))
    const { code, stdout, stderr } = await carrel(service.dataFolder, ['ingest', source])
    assert.deepEqual([code, stdout], [1, ''], target)
    assert.match(stderr, /^carrel: [^\n]*\n$/)
    assert.match(stderr, says)
    assert.doesNotMatch(stderr, /someone else/)
    rmSync(join(source, 'manifest.csv'))
  }
  assert.equal((await itemsIn(service)).size, 0)
})

test('--add-only changes no existing item', async t => {
  const service = await startService(t)
  const folder = temporaryFolder(t)
  const own = writeFiles(join(folder, 'own'), {
    'one/dublin_core.xml': dublinCore({ title: 'Mine' }),
    'one/handle': '10673/1',
  })
  assertCounts(await ingest(service.dataFolder, own, '--add-only'), { added: 1 })
  const before = await itemsIn(service)
  const strange = writeFiles(join(folder, 'strange'), {
    'one/dublin_core.xml': dublinCore({ title: 'Taken over' }),
    'one/handle': '10673/1',
    'one/readers': 'anonymous',
    'two/dublin_core.xml': dublinCore({ title: 'New' }),
  })
  for (const more of [['--dry-run'], []]) {
    const report = await ingest(service.dataFolder, strange, '--add-only', ...more)
    assertCounts(report, { added: 1, failed: 1 })
    assert.deepEqual(report.failures, [
      { item: 'one', reason: 'the item 10673/1 already exists, and --add-only changes no existing item' },
    ])
    assert.deepEqual(report.changes, [])
  }
  const after = await itemsIn(service)
  assert.deepEqual(after.get('10673/1'), before.get('10673/1'))
  assert.equal(after.get('strange/two')?.title, 'New')
  // The items of an interrupted run are unchanged, and the next run continues.
  assertCounts(await ingest(service.dataFolder, own, '--add-only'), { unchanged: 1 })
})

test('--dry-run names the items that would be changed, and so does the report', async t => {
  const service = await startService(t)
  const source = writeLetters(join(temporaryFolder(t), 'letters'), 3)
  const first = await ingest(service.dataFolder, source)
  assert.deepEqual(first.changes, [])
  for (const at of [0, 2]) writeFiles(source, { [`letter-000${at}/scan.txt`]: 'scanned again' })
  const changes = ['letters/letter-0000', 'letters/letter-0002']
  assert.deepEqual((await ingest(service.dataFolder, source, '--dry-run')).changes, changes)
  const { stdout } = await carrel(service.dataFolder, ['ingest', source, '--dry-run'])
  assert.equal(
    stdout,
    `${changes.map(one => `It would change ${one}\n`).join('')}Readers: 3 kept.\nIt would be: 0 added, 2 changed, 1 unchanged, 0 failed. Nothing was written.\n`,
  )
  assert.deepEqual((await ingest(service.dataFolder, source)).changes, changes)
  // The report names a thousand items and counts the rest.
  const rows = (title: string) => Array.from({ length: 1_002 }, (_, at) => `row-${at},${title}`)
  const table = join(temporaryFolder(t), 'table')
  const write = (title: string) =>
    writeFiles(table, { 'manifest.csv': ['identifier,dc.title', ...rows(title)].join('\n') })
  assertCounts(await ingest(service.dataFolder, write('a')), { added: 1_002 })
  write('b')
  const lines = (await carrel(service.dataFolder, ['ingest', table, '--dry-run'])).stdout.split('\n')
  assert.deepEqual(lines.slice(999, 1_001), ['It would change row-999', '… and 2 more'])
  assert.equal((await ingest(service.dataFolder, table, '--dry-run')).changes.length, 1_000)
})

test('a command on another store removes no files of this one, and says so', async t => {
  const service = await startService(t)
  const files = folderOf(service.config.files)
  const source = writeLetters(join(temporaryFolder(t), 'letters'), 3)
  assertCounts(await ingest(service.dataFolder, source), { added: 3 })
  const contents = filesIn(files)
  const id = await service.storage.repository.storeId()
  assert.equal(readFileSync(join(files, 'store'), 'utf8'), `${id}\n`)

  const env = { CARREL_FILES: files }
  // A new store, as used when CARREL_DATABASE_URL is missing or CARREL_DATA is wrong.
  const other = temporaryFolder(t)
  await carrel(other, ['group', 'add', 'Readers'])
  const more = writeFiles(join(temporaryFolder(t), 'more'), {
    ...{ 'x/dublin_core.xml': dublinCore({ title: 'x' }) },
    'x/contents': 'a',
    'x/a': 'of the other store',
  })
  for (let round = 0; round < 2; round++) {
    for (const path of filesIn(files)) utimesSync(join(files, path), 1, 1)
    const cleaned = await carrel(other, ['files', 'clean'], { env })
    assert.deepEqual([cleaned.code, cleaned.stdout], [1, ''])
    assert.match(
      withoutBar(cleaned.stderr),
      /^carrel: no files were cleaned up: \S+ belongs to another store; set CARREL_FILES to [^\n]* CARREL_DATABASE_URL or CARREL_DATA to [^\n]*\n$/,
    )
    const ingested = await carrel(other, ['ingest', more], { env })
    assert.equal(ingested.code, 0, ingested.stderr)
    assert.match(ingested.stdout, round === 0 ? /^1 added/m : /^0 added, 0 changed, 1 unchanged/m)
    assert.match(withoutBar(ingested.stderr), /^carrel: no files were cleaned up: [^\n]*\n$/)
    assert.deepEqual(
      filesIn(files).filter(path => contents.includes(path)),
      contents,
    )
  }
  assert.equal((await carrel(service.dataFolder, ['files', 'verify'])).code, 0)
  assert.equal((await carrel(service.dataFolder, ['files', 'clean'])).code, 0)
})
