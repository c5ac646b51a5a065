import assert from 'node:assert/strict'
import { rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { commandEvent } from '../../../src/cli/store.ts'
import {
  assertCounts,
  dublinCore,
  type Held,
  ingest,
  itemsIn,
  writeFiles,
  writeLetters,
} from '../../support/data/archives.ts'
import { contentOf, everybody, putItem } from '../../support/data/repository.ts'
import { test } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../../support/service/service.ts'

const anonymous = [{ reader: 'anonymous' }]
const eperson = [{ reader: 'eperson' }]
const none = { kept: 0, source: 0, read: 0, default: 0 }

/** Returns the readers of an item, then those of its files by name. */
const readersOf = (item: Held | undefined) => [
  item?.readers,
  ...[...(item?.bitstreams ?? [])].sort((a, b) => (a.name < b.name ? -1 : 1)).map(({ readers }) => readers),
]

async function eventsIn(service: Service): Promise<string[]> {
  const client = await service.addLoggedIn('auditor@example.org', { admin: true })
  const events = (await (await client.get('/api/query/v4/audit-events')).json()) as {
    event: string
    object: string
  }[]
  return events
    .filter(({ event }) => event.startsWith('item.'))
    .map(({ event, object }) => `${event} ${object}`)
}

test('D7 an ingest without --read keeps the readers of existing items and files', async t => {
  const service = await startService(t)
  const source = writeLetters(join(temporaryFolder(t), 'letters'), 4)
  const first = await ingest(service.dataFolder, source, '--read', 'anonymous')
  assert.deepEqual(first.access, { ...none, read: 4 })
  assert.deepEqual(first.read, anonymous)
  const before = await itemsIn(service)

  const again = await ingest(service.dataFolder, source)
  assertCounts(again, { unchanged: 4 })
  assert.deepEqual([again.access, again.read], [{ ...none, kept: 4 }, null])
  assert.deepEqual(await itemsIn(service), before)

  writeFiles(source, {
    'letter-0001/dublin_core.xml': dublinCore({ title: 'Another title' }),
    'letter-0002/contents': 'scan.txt\nnotes.txt\nlicense.txt\nmore.txt\n',
    'letter-0002/more.txt': 'a new file',
    'new/dublin_core.xml': dublinCore({ title: 'A new item' }),
    'new/contents': 'scan.txt\n',
    'new/scan.txt': 'new',
  })
  utimesSync(join(source, 'letter-0003/scan.txt'), 1, 1)
  const changed = await ingest(service.dataFolder, source)
  assertCounts(changed, { added: 1, changed: 2, unchanged: 2 })
  assert.deepEqual(changed.access, { ...none, kept: 4, default: 1 })
  const after = await itemsIn(service)
  assert.equal(after.get('letters/letter-0001')?.title, 'Another title')
  for (const [identifier, item] of after)
    for (const readers of readersOf(item))
      assert.deepEqual(readers, identifier === 'letters/new' ? [] : anonymous, identifier)
  assert.equal(after.get('letters/letter-0002')?.bitstreams.length, 4)
})

test('D7 --read changes existing items and files that the source names no readers for', async t => {
  const service = await startService(t)
  const source = writeLetters(join(temporaryFolder(t), 'letters'), 2)
  writeFiles(source, { 'letter-0001/contents': 'scan.txt\nnotes.txt\treaders:eperson\nlicense.txt\n' })
  await ingest(service.dataFolder, source, '--read', 'anonymous')
  const file = ['letters/letter-0000', 'admin', '--file', 'ORIGINAL/scan.txt']
  assert.equal((await carrel(service.dataFolder, ['item', 'access', ...file])).code, 0)
  assertCounts(await ingest(service.dataFolder, source), { unchanged: 2 })
  // The item has the readers of --read already; one of its files no longer has.
  const back = await ingest(service.dataFolder, source, '--read', 'anonymous')
  assertCounts(back, { changed: 1, unchanged: 1 })
  assert.deepEqual(back.access, { ...none, kept: 1, read: 1 })
  const closed = await ingest(service.dataFolder, source, '--read', 'admin')
  assertCounts(closed, { changed: 2 })
  assertCounts(await ingest(service.dataFolder, source, '--read', 'admin'), { unchanged: 2 })
  const items = await itemsIn(service)
  assert.deepEqual(readersOf(items.get('letters/letter-0000')), [[], [], [], []])
  // The files are license.txt, notes.txt and scan.txt.
  assert.deepEqual(readersOf(items.get('letters/letter-0001')), [[], [], eperson, []])
})

test('D7 readers that the source names count, and those that it no longer names are kept', async t => {
  const service = await startService(t)
  const source = writeLetters(join(temporaryFolder(t), 'letters'), 1)
  const letter = async () => readersOf((await itemsIn(service)).get('letters/letter-0000'))
  writeFiles(source, {
    'letter-0000/readers': 'eperson\n',
    'letter-0000/contents': "scan.txt\tpermissions:-r 'Anonymous'\nnotes.txt\nlicense.txt\n",
  })
  const first = await ingest(service.dataFolder, source, '--read', 'admin')
  assert.deepEqual(first.access, { ...none, source: 1 })
  assert.deepEqual(await letter(), [eperson, eperson, eperson, anonymous])

  writeFiles(source, { 'letter-0000/contents': 'scan.txt\nnotes.txt\treaders:admin\nlicense.txt\n' })
  rmSync(join(source, 'letter-0000/readers'))
  const kept = await ingest(service.dataFolder, source)
  assertCounts(kept, { changed: 1 })
  assert.deepEqual(kept.access, { ...none, kept: 1 })
  assert.deepEqual(await letter(), [eperson, eperson, [], anonymous])

  // Readers of the item apply to every file without readers of its own.
  writeFiles(source, { 'letter-0000/readers': 'eperson until:2099-12-31\n' })
  await ingest(service.dataFolder, source)
  const until = [{ reader: 'eperson', until: '2099-12-31' }]
  assert.deepEqual(await letter(), [until, until, [], until])
})

test('D7 an empty cell of the column readers keeps the readers, a rule in it changes them', async t => {
  const service = await startService(t)
  const source = join(temporaryFolder(t), 'posters')
  const write = (...rows: string[]) =>
    writeFiles(source, { 'manifest.csv': ['identifier,dc.title,readers,files', ...rows].join('\n'), a: 'a' })
  write('p-1,One,anonymous,a', 'p-2,Two,,a')
  await ingest(service.dataFolder, source, '--read', 'eperson')
  write('p-1,One again,,a', 'p-2,Two again,anonymous,a')
  const report = await ingest(service.dataFolder, source)
  assertCounts(report, { changed: 2 })
  assert.deepEqual(report.access, { ...none, kept: 1, source: 1 })
  const items = await itemsIn(service)
  assert.deepEqual(readersOf(items.get('p-1')), [anonymous, anonymous])
  assert.deepEqual(readersOf(items.get('p-2')), [anonymous, anonymous])
})

test('D7 the report says which readers the items have', async t => {
  const service = await startService(t)
  const source = writeLetters(join(temporaryFolder(t), 'letters'), 2)
  writeFiles(source, { 'letter-0001/readers': 'eperson\n' })
  const lines = async (...args: string[]) =>
    (await carrel(service.dataFolder, ['ingest', source, ...args])).stdout.split('\n')
  const byDefault = (await lines('--dry-run')).find(line => line.startsWith('Readers'))
  assert.equal(
    byDefault,
    'Readers: 1 from the source, 1 admin (the default; change it with --read or `carrel item access`).',
  )
  const [byOption] = await lines('--read', 'anonymous', '--from', '2027-01-01')
  assert.equal(byOption, 'Readers: 1 from the source, 1 anonymous from:2027-01-01 (--read).')
  const [kept, counts] = await lines()
  assert.equal(kept, 'Readers: 2 kept.')
  assert.match(counts ?? '', /^0 added, 0 changed, 2 unchanged, 0 failed, in /)
  const misused = await carrel(service.dataFolder, ['ingest', source, '--from', '2027-01-01'])
  assert.deepEqual(
    [misused.code, misused.stderr],
    [2, 'carrel: --from and --until need --read, such as --read anonymous\n'],
  )
})

test('D8 item access changes an item and the files that share its readers, and an ingest keeps that', async t => {
  const service = await startService(t)
  await service.storage.people.ensureGroups(['Staff of the archive'])
  const source = writeLetters(join(temporaryFolder(t), 'letters'), 1)
  writeFiles(source, { 'letter-0000/contents': 'scan.txt\treaders:admin\nnotes.txt\nlicense.txt\n' })
  await ingest(service.dataFolder, source, '--read', 'anonymous')
  const access = (...args: string[]) => carrel(service.dataFolder, ['item', 'access', ...args])
  const letter = async () => (await itemsIn(service)).get('letters/letter-0000')
  const before = await letter()

  const staff = [{ reader: 'group:Staff of the archive', from: '2027-01-01' }, { reader: 'eperson' }]
  const rules = ['group:Staff of the archive', 'from:2027-01-01', 'eperson']
  const { code, stdout, stderr } = await access('letters/letter-0000', ...rules, '--json')
  assert.deepEqual([code, stderr], [0, ''])
  const printed = JSON.parse(stdout) as Held
  assert.deepEqual(new Set(printed.readers), new Set(staff))
  const after = await letter()
  assert.deepEqual(readersOf(after), [printed.readers, printed.readers, printed.readers, []])
  assert.equal(after?.uuid, before?.uuid)
  assert.equal(after?.modified, before?.modified, 'only administrators see who may read')

  const one = await access('letters/letter-0000', 'anonymous', '--file', 'TEXT/notes.txt')
  assert.equal(one.code, 1)
  assert.match(one.stderr, /^carrel: letters\/letter-0000 has no file TEXT\/notes\.txt; [^\n]+\n$/)
  const file = await access(before?.uuid ?? '', 'anonymous', '--file', 'ORIGINAL/notes.txt')
  assert.match(file.stdout, /^ORIGINAL\/notes\.txt +\d+ +anonymous /m)
  const shown = await letter()
  assert.deepEqual(readersOf(shown), [printed.readers, printed.readers, anonymous, []])
  // Repeating the command changes nothing.
  assert.equal((await access('letters/letter-0000', 'anonymous', '--file', 'ORIGINAL/notes.txt')).code, 0)

  assertCounts(await ingest(service.dataFolder, source), { unchanged: 1 })
  assert.deepEqual(await letter(), shown)
  writeFiles(source, { 'letter-0000/dublin_core.xml': dublinCore({ title: 'Another title' }) })
  assertCounts(await ingest(service.dataFolder, source), { changed: 1 })
  assert.deepEqual(readersOf(await letter()), readersOf(shown))
  assert.deepEqual(await eventsIn(service), [
    'item.add letters/letter-0000',
    'item.access letters/letter-0000',
    'item.access letters/letter-0000, ORIGINAL/notes.txt',
    'item.change letters/letter-0000',
  ])
})

test('D8 F1 item access takes effect at once in a running service, in lists, totals and downloads', async t => {
  const service = await startService(t)
  const { files } = await putItem(service, 'a', [], [{ name: 'a.txt' }, { name: 'b.txt' }])
  const [one, other] = ['a.txt', 'b.txt'].map(name => contentOf(files.get(name) ?? { uuid: '' }))
  const client = service.client()
  const seen = async () => {
    const items = await client.get('/api/query/v4/items?include_total=true')
    const bitstreams = await client.get('/api/query/v4/bitstreams?include_total=true')
    return [
      items.headers.get('x-records'),
      bitstreams.headers.get('x-records'),
      ((await bitstreams.json()) as unknown[]).length,
      (await client.get(one ?? '')).status,
      (await client.get(other ?? '')).status,
    ]
  }
  assert.deepEqual(await seen(), ['0', '0', 0, 401, 401])
  const access = async (...args: string[]) =>
    assert.equal((await carrel(service.dataFolder, ['item', 'access', 'a', ...args])).code, 0)
  await access('eperson', '--file', 'ORIGINAL/b.txt')
  await access('anonymous')
  assert.deepEqual(await seen(), ['1', '1', 1, 200, 401])
  await access('anonymous', '--file', 'ORIGINAL/b.txt')
  assert.deepEqual(await seen(), ['1', '2', 2, 200, 200])
  await access('eperson')
  assert.deepEqual(await seen(), ['0', '0', 0, 401, 401])
})

test('D8 I17 item access lets one eperson read, by address or UUID, until they are deleted', async t => {
  const service = await startService(t)
  const { uuid } = await service.addEperson('ruth@example.org')
  await service.addEperson('max@example.org')
  const item = await putItem(service, 'letters/1', [], [{ name: 'a.txt' }])
  const ruth = await service.loggedIn('ruth@example.org')
  const max = await service.loggedIn('max@example.org')
  const seen = async () =>
    Promise.all([ruth, max].map(async one => (await one.get(`/api/core/items/${item.uuid}`)).status))
  const access = (...rules: string[]) => carrel(service.dataFolder, ['item', 'access', 'letters/1', ...rules])
  const given = await access('eperson:Ruth@Example.org', 'from:2020-01-01', '--json')
  assert.equal(given.code, 0, given.stderr)
  assert.deepEqual(JSON.parse(given.stdout).readers, [{ reader: `eperson:${uuid}`, from: '2020-01-01' }])
  assert.deepEqual(await seen(), [200, 403])
  const shown = await access(`eperson:${uuid.toUpperCase()}`)
  assert.match(shown.stdout, new RegExp(`^readers +eperson:${uuid}$`, 'm'))
  assert.deepEqual(await seen(), [200, 403])
  for (const [rule, code, message] of [
    ['eperson:eva@example.org', 1, /there is no eperson eva@example.org; `carrel eperson list`/],
    ['eperson:', 2, /not a rule/],
    ['eperson:ruth@example.org max', 2, /not a rule/],
  ] as const) {
    const refused = await access(rule)
    assert.equal(refused.code, code, refused.stderr)
    assert.match(refused.stderr, message)
  }
  assert.equal((await carrel(service.dataFolder, ['eperson', 'delete', 'ruth@example.org'])).code, 0)
  assert.deepEqual((await service.storage.repository.item(item.uuid))?.readers, [])
})

test('D8 item access refuses an invalid rule, and a group, item or file that does not exist', async t => {
  const service = await startService(t)
  await putItem(service, 'a', everybody, [{ name: 'a.txt' }])
  for (const [args, code, message] of [
    [['a', 'everybody'], 2, /"everybody" is not a rule/],
    [['a', 'anonymous', 'from:2027-02-30'], 2, /"2027-02-30" is not a date/],
    [['a', 'group:Nobody'], 1, /there is no group "Nobody"; add it with `carrel group add Nobody`/],
    [['b', 'anonymous'], 1, /there is no item b; `carrel item list` lists/],
    [['a', 'anonymous', '--file', 'a.txt'], 2, /--file takes a bundle and a name/],
    [['a', 'anonymous', '--file', 'ORIGINAL/b.txt'], 1, /a has no file ORIGINAL\/b\.txt/],
    [['a'], 2, /missing required argument 'rule'/],
  ] as [string[], number, RegExp][]) {
    const finished = await carrel(service.dataFolder, ['item', 'access', ...args])
    assert.equal(finished.code, code, args.join(' '))
    assert.match(finished.stderr, /^carrel: .*\n$/)
    assert.match(finished.stderr, message)
  }
  assert.deepEqual(readersOf((await itemsIn(service)).get('a')), [anonymous, anonymous])
})

test('D8 item list prints identifier, title, number of files and readers of all items or up to a limit', async t => {
  const service = await startService(t)
  const list = async (...args: string[]) => {
    const { code, stdout, stderr } = await carrel(service.dataFolder, ['item', 'list', ...args])
    assert.deepEqual([code, stderr], [0, ''], args.join(' '))
    return stdout
  }
  assert.deepEqual([await list(), await list('--json')], ['No items.\n', '[]\n'])
  const b = await putItem(service, 'b', everybody, [{ name: 'a.txt' }, { name: 'b.txt' }])
  const emoji = await putItem(service, '\u{1f600}', [], [])
  const tilde = await putItem(service, '\uff5e', [{ reader: 'eperson' }, { reader: 'group:X' }], [])
  const all = [
    { identifier: 'b', uuid: b.uuid, title: 'Title of b', files: 2, readers: anonymous },
    { identifier: '\uff5e', uuid: tilde.uuid, title: 'Title of \uff5e', files: 0, readers: tilde.readers },
    { identifier: '\u{1f600}', uuid: emoji.uuid, title: 'Title of \u{1f600}', files: 0, readers: [] },
  ]
  assert.deepEqual(JSON.parse(await list('--json')), all)
  assert.deepEqual(JSON.parse(await list('--json', '--limit', '2')), all.slice(0, 2))
  const lines = (await list()).split('\n')
  assert.match(lines[0] ?? '', /^ITEM +TITLE +FILES +READERS$/)
  assert.match(lines[1] ?? '', /^b +Title of b +2 +anonymous$/)
  assert.match(lines[2] ?? '', /^\uff5e +Title of \uff5e +0 +eperson \| group:X$/)
  assert.match(lines[3] ?? '', /0 +admin$/)
  assert.equal((await list('--limit', '1')).split('\n').length, 3)
  for (const limit of ['0', '-1', 'x', '1.5']) {
    const misused = await carrel(service.dataFolder, ['item', 'list', `--limit=${limit}`])
    assert.equal(misused.code, 2, limit)
    assert.match(misused.stderr, /--limit takes a positive whole number/)
  }
})

test('D8 item list pages through more items than it holds in memory', async t => {
  const service = await startService(t)
  const items = Array.from({ length: 2_001 }, (_, at) => ({
    identifier: `item/${String(at).padStart(5, '0')}`,
    metadata: {},
    collections: [],
    readers: null,
    bitstreams: [],
    fingerprint: '',
  }))
  await service.storage.repository.putItems(items, commandEvent('item.add'), [])
  const json = await carrel(service.dataFolder, ['item', 'list', '--json'])
  const listed = JSON.parse(json.stdout) as { identifier: string }[]
  assert.deepEqual(
    listed.map(({ identifier }) => identifier),
    items.map(({ identifier }) => identifier),
  )
  const text = await carrel(service.dataFolder, ['item', 'list'])
  assert.equal(text.stdout.trimEnd().split('\n').length, 2_002)
})

test('D1 every command of item and files prints its result as JSON on request', async t => {
  const service = await startService(t)
  const { uuid } = await putItem(service, 'a', everybody, [{ name: 'a.txt' }])
  const json = async (...args: string[]) => {
    const { code, stdout } = await carrel(service.dataFolder, [...args, '--json'])
    assert.equal(code, 0, args.join(' '))
    return JSON.parse(stdout) as unknown
  }
  const { bitstreams, ...item } = (await itemsIn(service)).get('a') as Held
  assert.deepEqual(await json('item', 'show', 'a'), { ...item, bitstreams })
  assert.deepEqual(await json('item', 'access', 'a', 'anonymous'), { ...item, bitstreams })
  assert.deepEqual(await json('item', 'list'), [
    { identifier: 'a', uuid, title: 'Title of a', files: 1, readers: anonymous },
  ])
  assert.deepEqual(await json('files', 'verify'), { checked: 1, bytes: 16, missing: [], damaged: [] })
  const nothing = { setAside: 0, broughtBack: 0, deleted: 0, leftovers: 0 }
  assert.deepEqual(await json('files', 'clean'), nothing)
  assert.deepEqual(await json('item', 'delete', 'a'), { identifier: 'a', uuid, deleted: true })
})
