import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { folderOf } from '../../../src/config/files-place.ts'
import {
  assertCounts,
  dublinCore,
  filesIn,
  ingest,
  itemsIn,
  withoutBar,
  writeFiles,
  writeLetters,
} from '../../support/data/archives.ts'
import { test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { startService, temporaryFolder } from '../../support/service/service.ts'

const sha256 = (content: string) => createHash('sha256').update(content).digest('hex')
const pathOf = (hash: string) => join(hash.slice(0, 2), hash.slice(2, 4), hash)

test("DSpace's item folders are added with metadata, files, bundles, permissions, handle and collections", async t => {
  const service = await startService(t)
  await service.storage.people.ensureGroups(['Campus', 'Staff of the archive'])
  const source = writeFiles(join(temporaryFolder(t), 'letters'), {
    'one/dublin_core.xml': `<?xml version="1.0" encoding="UTF-8"?>
<dublin_core schema="dc">
  <dcvalue element="title" qualifier="none" language="en">To Ruth &amp; others</dcvalue>
  <dcvalue element="title" qualifier="alternative" language="de">An Ruth</dcvalue>
  <dcvalue element="contributor" qualifier="author">Zoë</dcvalue>
  <dcvalue element="contributor" qualifier="author">Ada</dcvalue>
  <dcvalue element="date" qualifier="issued">1931-05-01</dcvalue>
  <dcvalue element="type">  </dcvalue>
</dublin_core>`,
    'one/metadata_local.xml':
      '<dublin_core schema="local"><dcvalue element="shelf">B 12</dcvalue></dublin_core>',
    'one/contents':
      "scan.pdf\tbundle:ORIGINAL\tpermissions:-r 'Campus'\tdescription:The whole letter\n" +
      "cover.jpg\tprimary:true\tpermissions:-r 'Anonymous'\nlicense.txt\n" +
      'scan.pdf.txt\tbundle:TEXT\treaders:eperson from:2027-01-01\treaders:group:Staff of the archive\n' +
      'raw/scan.tif\tbundle:PRESERVATION\treaders:admin\n',
    'one/handle': '10673/17\n',
    'one/collections': '10673/2\n10673/3\n',
    'one/scan.pdf': 'pdf',
    'one/cover.jpg': 'jpg',
    'one/license.txt': 'license',
    'one/scan.pdf.txt': 'text',
    'one/raw/scan.tif': 'tif',
    'two/dublin_core.xml': dublinCore({ title: 'Without files' }),
    'two/readers': 'eperson\nanonymous\tfrom:2030-01-01\n',
    'mapfile.txt': 'lies beside the items',
    '__MACOSX/one/._scan.pdf': 'added by macOS',
  })
  const report = await ingest(service.dataFolder, source)
  assertCounts(report, { added: 2 })
  assert.deepEqual([report.code, report.stderr], [0, ''])

  const items = await itemsIn(service)
  assert.deepEqual([...items.keys()].toSorted(), ['10673/17', 'letters/two'])
  const one = items.get('10673/17')
  assert.ok(one)
  assert.deepEqual(one.metadata, {
    'dc.title': [{ value: 'To Ruth & others', language: 'en' }],
    'dc.title.alternative': [{ value: 'An Ruth', language: 'de' }],
    'dc.contributor.author': [
      { value: 'Zoë', language: null },
      { value: 'Ada', language: null },
    ],
    'dc.date.issued': [{ value: '1931-05-01', language: null }],
    'local.shelf': [{ value: 'B 12', language: null }],
  })
  assert.deepEqual(one.collections, ['10673/2', '10673/3'])
  // Without a rule, only administrators may read.
  assert.deepEqual(one.readers, [])
  assert.deepEqual(
    one.bitstreams.map(({ name, bundle, description, mimeType, size, sha256: hash }) => [
      name,
      bundle,
      description,
      mimeType,
      size,
      hash,
    ]),
    [
      ['cover.jpg', 'ORIGINAL', null, 'image/jpeg', 3, sha256('jpg')],
      ['scan.pdf', 'ORIGINAL', 'The whole letter', 'application/pdf', 3, sha256('pdf')],
      ['license.txt', 'LICENSE', null, 'text/plain', 7, sha256('license')],
      ['scan.pdf.txt', 'TEXT', null, 'text/plain', 4, sha256('text')],
      ['scan.tif', 'PRESERVATION', null, 'image/tiff', 3, sha256('tif')],
    ],
  )
  const readersOf = new Map(one.bitstreams.map(({ name, readers }) => [name, readers]))
  assert.deepEqual(readersOf.get('cover.jpg'), [{ reader: 'anonymous' }])
  assert.deepEqual(readersOf.get('scan.pdf'), [{ reader: 'group:Campus' }])
  assert.deepEqual(readersOf.get('license.txt'), [])
  assert.deepEqual(
    readersOf.get('scan.pdf.txt')?.toSorted((a, b) => (a.reader < b.reader ? -1 : 1)),
    [{ reader: 'eperson', from: '2027-01-01' }, { reader: 'group:Staff of the archive' }],
  )
  assert.deepEqual(readersOf.get('scan.tif'), [])
  const two = items.get('letters/two')
  assert.deepEqual(two?.bitstreams, [])
  assert.deepEqual(
    two?.readers.toSorted((a, b) => (a.reader < b.reader ? -1 : 1)),
    [{ reader: 'anonymous', from: '2030-01-01' }, { reader: 'eperson' }],
  )
  const folder = folderOf(service.config.files)
  assert.deepEqual(
    filesIn(folder),
    ['jpg', 'pdf', 'license', 'text', 'tif'].map(content => pathOf(sha256(content))).toSorted(),
  )
  assert.equal(readFileSync(join(folder, pathOf(sha256('license'))), 'utf8'), 'license')
})

test('a folder with manifest.csv is added, one item per row', async t => {
  const service = await startService(t)
  await service.storage.people.ensureGroups(['Campus'])
  const source = writeFiles(join(temporaryFolder(t), 'posters'), {
    'manifest.csv':
      '\ufeffidentifier,dc.title,dc.title[de],dc.contributor.author,files,readers,collections,local.shelf\r\n' +
      'p-1,"A poster, large",Ein Plakat,Ada||Zoë,scans/1.tif|license.txt,eperson|group:Campus from:2027-01-01,10673/2|10673/3,"B\n12"\r\n' +
      '\r\n' +
      'p-2,Another,,,scans/2.unknown,,,\r\n' +
      'p-3,No files,,,,admin,,\r\n',
    'scans/1.tif': 'one',
    'scans/2.unknown': 'two',
    'license.txt': 'license',
  })
  const report = await ingest(service.dataFolder, source, '--read', 'eperson', '--until', '2099-12-31')
  assertCounts(report, { added: 3 })
  const items = await itemsIn(service)
  const one = items.get('p-1')
  assert.deepEqual(one?.metadata, {
    'dc.title': [
      { value: 'A poster, large', language: null },
      { value: 'Ein Plakat', language: 'de' },
    ],
    'dc.contributor.author': [
      { value: 'Ada', language: null },
      { value: 'Zoë', language: null },
    ],
    'local.shelf': [{ value: 'B\n12', language: null }],
  })
  assert.deepEqual(one?.collections, ['10673/2', '10673/3'])
  assert.deepEqual(
    one?.readers.toSorted((a, b) => (a.reader < b.reader ? -1 : 1)),
    [{ reader: 'eperson' }, { reader: 'group:Campus', from: '2027-01-01' }],
  )
  assert.deepEqual(
    one?.bitstreams.map(({ name, bundle, mimeType }) => [name, bundle, mimeType]),
    [
      ['1.tif', 'ORIGINAL', 'image/tiff'],
      ['license.txt', 'LICENSE', 'text/plain'],
    ],
  )
  const two = items.get('p-2')
  assert.deepEqual(two?.readers, [{ reader: 'eperson', until: '2099-12-31' }])
  assert.deepEqual(two?.bitstreams[0]?.mimeType, 'application/octet-stream')
  assert.deepEqual(items.get('p-3')?.readers, [])
})

test('a bad item is reported with what would be right, and the others are added', async t => {
  const service = await startService(t)
  const folder = temporaryFolder(t)
  writeFiles(folder, { secret: 'of someone else' })
  const good = { 'dublin_core.xml': dublinCore({ title: 'x' }) }
  const bad: [name: string, files: Record<string, string | Uint8Array>, reason: RegExp][] = [
    ['no-core', { contents: '' }, /there is no dublin_core.xml/],
    ['case-core', { 'Dublin_Core.xml': '' }, /; there is "Dublin_Core\.xml": rename it to dublin_core\.xml$/],
    ['case-contents', { ...good, Contents: 'a', a: '' }, /^it has "Contents"; rename it to contents$/],
    ['quoted', { ...good, contents: '"a b.txt"', 'a b.txt': '' }, /; write a b\.txt without quotes$/],
    ['no-xml', { 'dublin_core.xml': '<dublin_core>' }, /dublin_core\.xml: it is not well-formed XML/],
    ['doctype', { 'dublin_core.xml': `<!DOCTYPE x>${dublinCore({})}` }, /document type/],
    ['latin', { 'dublin_core.xml': Buffer.from(dublinCore({ title: 'é' }), 'latin1') }, /not UTF-8/],
    ['large', { 'dublin_core.xml': dublinCore({ title: 'x'.repeat(1_100_000) }) }, /larger than 1 MB/],
    ['surrogate', { 'dublin_core.xml': dublinCore({ title: 'a&#xD800;b' }) }, /surrogate|well-formed/],
    ['control', { 'dublin_core.xml': dublinCore({ title: 'a\u0001b' }) }, /control character/],
    ['nul', { 'dublin_core.xml': dublinCore({ title: 'a&#0;b' }) }, /control character/],
    ['missing', { ...good, contents: 'a.pdf\n' }, /contents: there is no file a\.pdf/],
    ['unlisted', { ...good, 'a.pdf': 'x' }, /it has a\.pdf but no contents file/],
    ['out', { ...good, contents: '../secret\n' }, /is outside the folder/],
    ['absolute', { ...good, contents: `${folder}/secret\n` }, /is outside the folder/],
    ['linked', { ...good, contents: 'link\n' }, /link to a place outside/],
    ['linked-inside', { ...good, contents: 'sub/link\n', 'sub/x': '' }, /link to a place outside/],
    ['linked-core', {}, /dublin_core\.xml: .*link to a place outside/],
    ['folder', { ...good, contents: 'sub\n', 'sub/x': '' }, /sub is not a file/],
    ['twice', { ...good, contents: 'a\nsub/a\n', a: '1', 'sub/a': '2' }, /the bundle ORIGINAL has two files/],
    ['registered', { ...good, contents: '-r -s 1 -f a.tif\n' }, /registered files .* not supported/],
    ['group', { ...good, contents: "a\tpermissions:-r 'Nobody'\n", a: '' }, /`carrel group add Nobody`/],
    ['readers', { ...good, readers: 'eperson from:2027-02-30\n' }, /readers: .*"2027-02-30" is not a date/],
    ['no-readers', { ...good, readers: '\n' }, /readers: it is empty/],
    ['long', { ...good, handle: 'é'.repeat(251) }, /longer than 500 bytes/],
    ['no-handle', { ...good, handle: '\n' }, /handle: it is empty/],
    ['z-same-handle', { ...good, handle: 'good/1' }, /an earlier item has the same identifier good\/1/],
  ]
  const source = join(folder, 'source')
  for (const [name, files] of bad) writeFiles(join(source, name), files)
  symlinkSync(join(folder, 'secret'), join(source, 'linked/link'))
  symlinkSync(folder, join(source, 'linked-inside/sub/link'))
  writeFiles(join(source, 'linked-core'), { contents: '' })
  symlinkSync(join(folder, 'secret'), join(source, 'linked-core/dublin_core.xml'))
  symlinkSync(join(source, 'good'), join(source, 'linked-item'))
  writeFiles(join(source, 'good'), { ...good, handle: 'good/1', contents: 'a', a: 'good' })

  const report = await ingest(service.dataFolder, source)
  assert.equal(report.code, 1)
  assertCounts(report, { added: 1, failed: bad.length + 1 })
  const reasons = new Map(report.failures.map(({ item, reason }) => [item, reason]))
  for (const [name, , reason] of bad) assert.match(reasons.get(name) ?? '', reason, name)
  assert.match(reasons.get('linked-item') ?? '', /it is a link/)
  const lines = report.stderr.trimEnd().split('\n')
  assert.equal(lines.length, bad.length + 1)
  for (const line of lines) assert.match(line, /^carrel: [a-z-]+: \S/)
  assert.doesNotMatch(report.stderr, /someone else/)
  assert.deepEqual([...(await itemsIn(service)).keys()], ['good/1'])
})

test('a bad row of the manifest is reported by its line, and the others are added', async t => {
  const service = await startService(t)
  const source = writeFiles(join(temporaryFolder(t), 'rows'), {
    'manifest.csv': [
      'identifier,dc.title,files,readers',
      'a,fine,1.txt,',
      'b,too few',
      'c,missing,2.txt,',
      ',no identifier,,',
      'a,again,,',
      'd,out,../rows/1.txt,',
      'e,nobody,,everybody',
      'f,fine,,eperson',
      'g,"no end',
      'h,never read,,',
    ].join('\n'),
    '1.txt': 'one',
  })
  const report = await ingest(service.dataFolder, source)
  assert.equal(report.code, 1)
  assertCounts(report, { added: 2, failed: 7 })
  const reasons = report.failures.map(({ item, reason }) => `${item}: ${reason}`).join('\n')
  for (const reason of [
    /^manifest\.csv, line 3: it has 2 cells for 4 columns$/m,
    /^manifest\.csv, line 4: there is no file 2\.txt$/m,
    /^manifest\.csv, line 5: the identifier is empty$/m,
    /^manifest\.csv, line 6: an earlier item has the same identifier a$/m,
    /^manifest\.csv, line 7: .* is outside the folder/m,
    /^manifest\.csv, line 8: "everybody" is not a rule/m,
    /^manifest\.csv: line \d+: .*; nothing after it was read$/m,
  ])
    assert.match(reasons, reason)
})

test('what is not a source, and wrong usage, are refused before anything is added', async t => {
  const dataFolder = temporaryFolder(t)
  // The first command on a new store reports it (D6), so the store is created before.
  await carrel(dataFolder, ['group', 'add', 'Readers'])
  const folder = temporaryFolder(t)
  writeFiles(folder, {
    'columns/manifest.csv': 'identifier,title\na,b\n',
    'nothing/manifest.csv': '',
    'item/dublin_core.xml': dublinCore({ title: 'x' }),
    'plain/readme.txt': 'x',
    'empty/.hidden': 'x',
    'case/Manifest.csv': 'identifier,files\na,scans/1.tif\n',
    'case/scans/1.tif': 'x',
    'blank/manifest.csv\ufeff': 'identifier\na\n',
    'header/manifest.csv': 'identifier,files\r\n\r\n',
    file: '',
  })
  for (const [args, code, message] of [
    [['not-there'], 1, /there is no folder/],
    [['file'], 1, /file is a file; give the folder that holds manifest\.csv/],
    [['columns'], 1, /manifest\.csv: line 1: "title" is not a column; use identifier, files/],
    [['nothing'], 1, /manifest\.csv: it is empty/],
    [['item'], 1, /item is itself an item folder; give the folder that contains it/],
    [
      ['plain'],
      1,
      /there is nothing to ingest in .*: neither manifest\.csv nor item folders with dublin_core\.xml/,
    ],
    [['empty'], 1, /there is nothing to ingest in .*empty: neither/],
    [['case'], 1, /case has "Manifest\.csv"; rename it to manifest\.csv/],
    [['blank'], 1, /blank has "manifest\.csv\\ufeff"; rename it to manifest\.csv/],
    [['header'], 1, /manifest\.csv: there are no rows after the line that names the columns/],
    [['.', '--read', 'everybody'], 2, /--read takes anonymous, eperson, admin or group:<name>/],
    [['.', '--read', 'group:Nobody'], 1, /add it with .carrel group add Nobody./],
    [['.', '--read', 'eperson', '--from', '2027-02-30'], 2, /--from: "2027-02-30" is not a date/],
    [
      ['.', '--read', 'eperson', '--from', '2027-02-03', '--until', '2027-02-02'],
      2,
      /--until must not be before --from/,
    ],
    [
      ['.', '--read', 'admin', '--from', '2027-02-03'],
      2,
      /--from and --until limit who else may read; use them with --read anonymous/,
    ],
  ] as [string[], number, RegExp][]) {
    const [name = '', ...rest] = args
    const finished = await carrel(dataFolder, ['ingest', join(folder, name), ...rest])
    assert.equal(finished.code, code, args.join(' '))
    assert.match(finished.stderr, /^carrel: .*\n$/)
    assert.match(finished.stderr, message)
  }
})

test('a repeated ingest changes only what has changed in the source', async t => {
  const service = await startService(t)
  const source = writeLetters(join(temporaryFolder(t), 'letters'), 7)
  assertCounts(await ingest(service.dataFolder, source), { added: 7 })
  const before = await itemsIn(service)
  assertCounts(await ingest(service.dataFolder, source), { unchanged: 7 })
  assert.deepEqual(await itemsIn(service), before)

  writeFiles(source, {
    'letter-0001/dublin_core.xml': dublinCore({ title: 'Another title' }),
    'letter-0002/scan.txt': 'scanned again',
    'letter-0003/contents': 'scan.txt\n',
  })
  // The file is only touched: it is read again, and the item stays unchanged.
  utimesSync(join(source, 'letter-0004/scan.txt'), 1, 1)
  rmSync(join(source, 'letter-0006'), { recursive: true })
  assertCounts(await ingest(service.dataFolder, source, '--dry-run'), { changed: 4, unchanged: 2 })
  assert.deepEqual(await itemsIn(service), before)
  assertCounts(await ingest(service.dataFolder, source), { changed: 3, unchanged: 3 })
  const after = await itemsIn(service)
  const both = (name: string) =>
    [before.get(`letters/letter-${name}`), after.get(`letters/letter-${name}`)] as const
  for (const [was, is] of ['0001', '0002', '0003', '0004', '0006'].map(both))
    assert.equal(is?.uuid, was?.uuid)
  assert.equal(after.get('letters/letter-0001')?.title, 'Another title')
  assert.equal(after.get('letters/letter-0002')?.bitstreams[0]?.sha256, sha256('scanned again'))
  assert.equal(
    after.get('letters/letter-0002')?.bitstreams[0]?.uuid,
    before.get('letters/letter-0002')?.bitstreams[0]?.uuid,
  )
  assert.equal(after.get('letters/letter-0003')?.bitstreams.length, 1)
  assert.deepEqual(...both('0006'))
  // Other readers on the command line change the items.
  assertCounts(await ingest(service.dataFolder, source, '--read', 'eperson'), { changed: 6 })
  assertCounts(await ingest(service.dataFolder, source, '--read', 'eperson'), { unchanged: 6 })
})

test('I7 names of files in a source lose what nobody sees, and the log says so', async t => {
  const service = await startService(t)
  const source = writeFiles(join(temporaryFolder(t), 'names'), {
    'one/dublin_core.xml': dublinCore({ title: 'One' }),
    'one/contents': 'sub/photo\u202egpj.exe\n',
    'one/sub/photo\u202egpj.exe': 'x',
  })
  const report = await ingest(service.dataFolder, source)
  assertCounts(report, { added: 1 })
  assert.equal(report.stderr, 'carrel: one: the file "photo\\u202egpj.exe" is called "photogpj.exe"\n')
  assert.deepEqual(
    (await itemsIn(service)).get('names/one')?.bitstreams.map(({ name }) => name),
    ['photogpj.exe'],
  )
  assertCounts(await ingest(service.dataFolder, source), { unchanged: 1 })
})

test('UP4 an identifier made of names never means an item of another source, and the refusal says how to go on', async t => {
  const service = await startService(t)
  const folder = temporaryFolder(t)
  const item = (title: string, files: Record<string, string> = {}) => ({
    'item_000/dublin_core.xml': dublinCore({ title }),
    'item_000/contents': 'a.txt\n',
    'item_000/a.txt': title,
    ...files,
  })
  const first = writeFiles(join(folder, 'a/batch'), item('First'))
  const second = writeFiles(join(folder, 'b/batch'), item('Second'))
  const third = writeFiles(join(folder, 'c/batch'), item('Third', { 'item_000/handle': '10673/3' }))
  assertCounts(await ingest(service.dataFolder, first), { added: 1 })
  const before = await itemsIn(service)
  for (const more of [['--dry-run'], []]) {
    const refused = await carrel(service.dataFolder, ['ingest', second, ...more])
    assert.equal(refused.code, 1)
    assert.match(
      refused.stderr,
      /^carrel: item_000: there is an item batch\/item_000 already, .* such as --name batch-2; .* say so: --name batch\n$/,
    )
    assert.deepEqual(await itemsIn(service), before)
  }
  // An identifier in the source is used as it is; a name on the command line is the operator's choice.
  assertCounts(await ingest(service.dataFolder, third), { added: 1 })
  assertCounts(await ingest(service.dataFolder, second, '--name', 'batch-2'), { added: 1 })
  assertCounts(await ingest(service.dataFolder, second, '--name', 'batch-2'), { unchanged: 1 })
  assertCounts(await ingest(service.dataFolder, first), { unchanged: 1 })
  // The same folder is the same source, even with changed content.
  writeFiles(first, item('First, corrected'))
  assertCounts(await ingest(service.dataFolder, first), { changed: 1 })
  // A folder created again at the same place is another source, unless the operator says otherwise.
  rmSync(join(first, 'item_000'), { recursive: true })
  writeFiles(join(folder, 'in-between'), { x: '' })
  writeFiles(first, item('Another one'))
  assert.equal((await carrel(service.dataFolder, ['ingest', first])).code, 1)
  assertCounts(await ingest(service.dataFolder, first, '--name', 'batch'), { changed: 1 })
  writeFiles(first, item('Another one, corrected'))
  assertCounts(await ingest(service.dataFolder, first), { changed: 1 })
  assert.deepEqual([...(await itemsIn(service))].map(([name, { title }]) => [name, title]).toSorted(), [
    ['10673/3', 'Third'],
    ['batch-2/item_000', 'Second'],
    ['batch/item_000', 'Another one, corrected'],
  ])
  assert.equal((await carrel(service.dataFolder, ['ingest', first, '--name', ' '])).code, 2)
})

test('--dry-run says what would happen and what is wrong, and writes nothing', async t => {
  const service = await startService(t)
  const source = writeLetters(join(temporaryFolder(t), 'letters'), 3)
  rmSync(join(source, 'letter-0001/scan.txt'))
  const report = await ingest(service.dataFolder, source, '--dry-run')
  assert.equal(report.code, 1)
  assert.equal(report.dryRun, true)
  assertCounts(report, { added: 2, failed: 1 })
  assert.equal((await itemsIn(service)).size, 0)
  assert.throws(() => filesIn(folderOf(service.config.files)), /ENOENT/)
  const finished = await carrel(service.dataFolder, ['ingest', source, '--dry-run'])
  assert.equal(
    finished.stdout,
    'It would add letters/letter-0000\nIt would add letters/letter-0002\n' +
      'Readers: 2 admin (the default; change it with --read or `carrel item access`).\n' +
      'It would be: 2 added, 0 changed, 0 unchanged, 1 failed. Nothing was written.\n',
  )
})

test('files verify names contents that are missing or damaged, and an ingest restores them', async t => {
  const service = await startService(t)
  const folder = folderOf(service.config.files)
  const source = writeLetters(join(temporaryFolder(t), 'letters'), 3)
  assertCounts(await ingest(service.dataFolder, source), { added: 3 })
  const verify = async () => {
    const { code, stdout, stderr } = await carrel(service.dataFolder, ['files', 'verify', '--json'])
    assert.equal(withoutBar(stderr), '')
    const { bytes: _, ...report } = JSON.parse(stdout)
    return { code, ...report }
  }
  assert.deepEqual(await verify(), { code: 0, checked: 7, missing: [], damaged: [] })
  const [missing, flipped, shorter] = [0, 1, 2].map(at => sha256(`letter ${at}, scanned`)) as [
    string,
    string,
    string,
  ]
  rmSync(join(folder, pathOf(missing)))
  writeFileSync(join(folder, pathOf(flipped)), 'letter 1, scanneD')
  writeFileSync(join(folder, pathOf(shorter)), 'letter')
  const fileOf = (at: number) => [`letters/letter-000${at}, ORIGINAL/scan.txt`]
  const { damaged, ...rest } = await verify()
  assert.deepEqual(rest, { code: 1, checked: 6, missing: [{ sha256: missing, files: fileOf(0) }] })
  assert.deepEqual(
    new Map(damaged.map((one: { sha256: string; size: number; reason: string }) => [one.sha256, one])),
    new Map([
      [
        flipped,
        { sha256: flipped, size: 17, files: fileOf(1), reason: `hashes to ${sha256('letter 1, scanneD')}` },
      ],
      [shorter, { sha256: shorter, size: 17, files: fileOf(2), reason: 'has 6 bytes' }],
    ]),
  )
  const shown = await carrel(service.dataFolder, ['files', 'verify'])
  assert.equal(shown.code, 1)
  assert.match(
    shown.stdout,
    new RegExp(`^missing: ${missing} of letters/letter-0000, ORIGINAL/scan\\.txt$`, 'm'),
  )
  assert.match(shown.stdout, /1 missing, 2 damaged; restore them from a backup/)
  for (const at of [0, 1, 2]) utimesSync(join(source, `letter-000${at}/scan.txt`), 1, 1)
  assertCounts(await ingest(service.dataFolder, source), { unchanged: 3 })
  assert.deepEqual(await verify(), { code: 0, checked: 7, missing: [], damaged: [] })
})

test('a deleted item is gone with its bitstreams, and can be added again', async t => {
  const service = await startService(t)
  const source = writeLetters(join(temporaryFolder(t), 'letters'), 2)
  await ingest(service.dataFolder, source)
  const deleted = await carrel(service.dataFolder, ['item', 'delete', 'letters/letter-0000'])
  assert.deepEqual([deleted.code, deleted.stdout], [0, 'Deleted letters/letter-0000.\n'])
  const again = await carrel(service.dataFolder, ['item', 'delete', 'letters/letter-0000'])
  assert.equal(again.code, 1)
  assert.match(again.stderr, /^carrel: there is no item letters\/letter-0000; [^\n]+\n$/)
  assert.deepEqual([...(await itemsIn(service)).keys()], ['letters/letter-0001'])
  assertCounts(await ingest(service.dataFolder, source), { added: 1, unchanged: 1 })
})

test('each item that is added, changed or deleted is in the audit trail', async t => {
  const service = await startService(t)
  const source = writeLetters(join(temporaryFolder(t), 'letters'), 2)
  await ingest(service.dataFolder, source)
  writeFiles(source, { 'letter-0001/scan.txt': 'scanned again' })
  await ingest(service.dataFolder, source)
  await carrel(service.dataFolder, ['item', 'delete', 'letters/letter-0000'])
  const client = await service.addLoggedIn('auditor@example.org', { admin: true })
  const events = (await (await client.get('/api/query/v4/audit-events')).json()) as {
    event: string
    object: string
  }[]
  assert.deepEqual(
    events.filter(({ event }) => event.startsWith('item.')).map(({ event, object }) => `${event} ${object}`),
    [
      'item.add letters/letter-0000',
      'item.add letters/letter-0001',
      'item.change letters/letter-0001',
      'item.delete letters/letter-0000',
    ],
  )
})

test('item show prints an item by its identifier or UUID, and who may read it', async t => {
  const service = await startService(t)
  const source = writeLetters(join(temporaryFolder(t), 'letters'), 1)
  await ingest(service.dataFolder, source, '--read', 'eperson', '--until', '2099-12-31')
  const show = (...args: string[]) => carrel(service.dataFolder, ['item', 'show', ...args])
  const { stdout, code } = await show('letters/letter-0000', '--json')
  assert.equal(code, 0)
  const item = JSON.parse(stdout) as { uuid: string; readers: unknown; bitstreams: { uuid: string }[] }
  assert.deepEqual(item.readers, [{ reader: 'eperson', until: '2099-12-31' }])
  assert.equal(item.bitstreams.length, 3)
  const shown = (await show(item.uuid)).stdout
  assert.match(shown, /^ITEM +letters\/letter-0000$/m)
  assert.match(shown, /^readers +eperson until:2099-12-31$/m)
  for (const { uuid } of item.bitstreams) assert.ok(shown.includes(uuid))
  assert.equal((await show('nothing')).code, 1)
})

test('a folder with a manifest and an item folder is refused, because one of them would be ignored', async t => {
  const service = await startService(t)
  const source = writeFiles(join(temporaryFolder(t), 'both'), {
    'manifest.csv': 'identifier\na\n',
    'one/dublin_core.xml': dublinCore({ title: 'One' }),
  })
  const finished = await carrel(service.dataFolder, ['ingest', source])
  assert.equal(finished.code, 1)
  assert.match(finished.stderr, /has both manifest\.csv and the item folder one/)
})

test('names that end in white space are reported, or used without it', async t => {
  const service = await startService(t)
  const source = writeFiles(join(temporaryFolder(t), 'letters'), {
    'blank /dublin_core.xml': dublinCore({ title: 'x' }),
    'good/dublin_core.xml': dublinCore({ title: ' x \ufeff' }),
    'good/contents': 'a.txt \ufeff\tdescription:A file \ufeff\tbundle:TEXT \n\ufeff\n',
    'good/a.txt': 'a',
    'good/handle': ' 10673/1\ufeff\n',
    'file/dublin_core.xml': dublinCore({ title: 'x' }),
    'file/contents': 'a.txt \n',
    'file/a.txt ': 'a',
  })
  const report = await ingest(service.dataFolder, source)
  assertCounts(report, { added: 1, failed: 2 })
  assert.deepEqual(
    new Map(report.failures.map(({ item, reason }) => [item, reason])),
    new Map([
      [
        'blank ',
        'the identifier "letters/blank " begins or ends with white space; rename the folder, or write a handle',
      ],
      ['file', 'contents: there is no file a.txt; there is "a.txt ": remove the white space from its name'],
    ]),
  )
  const item = (await itemsIn(service)).get('10673/1')
  assert.equal(item?.title, 'x')
  assert.deepEqual(
    item?.bitstreams.map(({ name, bundle, description }) => [name, bundle, description]),
    [['a.txt', 'TEXT', 'A file']],
  )
})
