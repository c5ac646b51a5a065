import assert from 'node:assert/strict'
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFileStore } from '../../src/files/file-store.ts'
import { graceMilliseconds } from '../../src/files/layout.ts'
import { claimFiles, OtherStore, ownedFolder } from '../../src/files/owner.ts'
import { pauseSweeps, sweep } from '../../src/files/sweep.ts'
import type { Content } from '../../src/model/items.ts'
import { filesIn } from '../support/data/archives.ts'
import { temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

const hour = graceMilliseconds + 1_000
/** Returns a store that refers to these contents. */
const storeWith = (id: string, ...contents: readonly Content[]) => ({
  storeId: () => id,
  copiedFrom: () => null,
  contents: () => contents,
  contentsInUse: (names: readonly string[]) =>
    new Set(contents.map(({ sha256 }) => sha256).filter(sha256 => names.includes(sha256))),
})

const none = { setAside: 0, broughtBack: 0, deleted: 0, leftovers: 0 }

/** Creates a folder of files, and the set of contents that the store refers to. */
async function prepare(t: TestContext, ...texts: string[]) {
  const folder = temporaryFolder(t)
  const files = join(folder, 'files')
  const store = createFileStore(files)
  const own = storeWith('a store')
  await claimFiles(ownedFolder(files), own)
  const keep = (text: string) => {
    writeFileSync(join(folder, text), text)
    return store.keep(join(folder, text))
  }
  const contents = []
  for (const text of texts) contents.push(await keep(text))
  const referred = new Set<string>()
  /** Functions that run during queries to the store, in the order of the queries. */
  const meanwhile: (() => Promise<unknown> | unknown)[] = []
  const contentsInUse = async (names: readonly string[]) => {
    const answer = new Set(names.filter(name => referred.has(name)))
    // The result is fixed before, so that the sweep doesn't see the change.
    await meanwhile.shift()?.()
    return answer
  }
  const run = (later: number) => sweep(files, { ...own, contentsInUse }, () => {}, Date.now() + later)
  const isThere = async (sha256: string) => {
    const file = await store.open(sha256)
    await file?.close()
    return file !== undefined
  }
  return { files, store, keep, contents, referred, meanwhile, run, isThere }
}

test('a content that nothing refers to is set aside after an hour, and deleted an hour later', async t => {
  const { files, contents, referred, run, isThere } = await prepare(t, 'wanted', 'orphan')
  const [wanted, orphan] = contents.map(({ sha256 }) => sha256) as [string, string]
  referred.add(wanted)
  assert.deepEqual(await run(0), none)
  assert.deepEqual(await run(hour), { ...none, setAside: 1 })
  assert.deepEqual(readdirSync(join(files, 'orphans')), [orphan])
  assert.ok(await isThere(orphan))
  assert.deepEqual(await run(0), none)
  assert.ok(await isThere(orphan))
  assert.deepEqual(await run(hour), { ...none, deleted: 1 })
  assert.ok(!(await isThere(orphan)))
  assert.ok(await isThere(wanted))
  assert.deepEqual(await run(10 * hour), none)
  assert.equal(filesIn(files).length, 1)
})

test('a content that is referred to again is moved back at any step', async t => {
  const { files, contents, referred, meanwhile, run } = await prepare(t, 'wanted again')
  const { sha256 } = contents[0] as { sha256: string }
  const refer = () => referred.add(sha256)
  const inPlace = () =>
    !filesIn(files).some(path => path.startsWith('orphans')) && filesIn(files).length === 1
  // While the content is set aside.
  meanwhile.push(refer)
  assert.deepEqual(await run(hour), none)
  assert.ok(inPlace())
  // While the content is in `orphans/`.
  referred.clear()
  assert.deepEqual(await run(hour), { ...none, setAside: 1 })
  refer()
  assert.deepEqual(await run(0), { ...none, broughtBack: 1 })
  assert.ok(inPlace())
  // While the content is deleted.
  referred.clear()
  assert.deepEqual(await run(hour), { ...none, setAside: 1 })
  meanwhile.push(refer)
  assert.deepEqual(await run(hour), { ...none, broughtBack: 1 })
  assert.ok(inPlace())
})

test('a content that is kept again during a sweep is never lost', async t => {
  // After each query to the store. No result says that the content is referred to.
  for (const [place, questions] of [
    ['orphans', 0],
    ['orphans', 1],
    ['in place', 0],
    ['in place', 1],
  ] as const) {
    const { files, store, keep, contents, meanwhile, run, isThere } = await prepare(t, 'kept again')
    const content = contents[0]
    assert.ok(content)
    const { sha256 } = content
    let path = join(files, sha256.slice(0, 2), sha256.slice(2, 4), sha256)
    if (place === 'orphans') {
      await run(hour)
      path = join(files, 'orphans', sha256)
    }
    // The clock of the process that keeps the content sees it as old, too.
    utimesSync(path, 1, 1)
    for (let before = 0; before < questions; before++) meanwhile.push(() => {})
    meanwhile.push(() => keep('kept again'))
    await run(0)
    assert.deepEqual(meanwhile, [])
    assert.ok(await isThere(sha256), `${place}, question ${questions}`)
    assert.ok(await store.holds(content))
    assert.equal(filesIn(files).length, 1)
  }
})

test('a sweep continues what a killed one has left', async t => {
  const { files, contents, referred, run, isThere } = await prepare(t, 'doomed', 'wanted')
  const [doomed, wanted] = contents.map(({ sha256 }) => sha256) as [string, string]
  await run(hour)
  // The state between the last query and the deletion.
  for (const name of [doomed, wanted])
    renameSync(join(files, 'orphans', name), join(files, 'orphans', `${name}.5a1e`))
  referred.add(wanted)
  assert.deepEqual(await run(hour), { ...none, broughtBack: 1, deleted: 1 })
  assert.ok(await isThere(wanted))
  assert.ok(!(await isThere(doomed)))
  assert.equal(filesIn(files).length, 1)
})

test('half-written files are removed after an hour, and nothing else is', async t => {
  const { files, contents, referred, run } = await prepare(t, 'wanted')
  referred.add(contents[0]?.sha256 ?? '')
  writeFileSync(join(files, 'incoming/half'), 'ha')
  writeFileSync(join(files, 'of-someone-else'), '')
  writeFileSync(join(files, 'orphans/of-someone-else'), '')
  assert.deepEqual(await run(0), none)
  assert.deepEqual(await run(hour), { ...none, leftovers: 1 })
  assert.deepEqual(
    filesIn(files).filter(path => path.includes('-')),
    ['of-someone-else', 'orphans/of-someone-else'],
  )
})

test('a sweep of a missing folder does nothing', async t => {
  const files = join(temporaryFolder(t), 'not', 'there')
  assert.deepEqual(await sweep(files, storeWith('a store')), none)
  assert.ok(!existsSync(join(files, '..')))
})

test('a store removes nothing in a folder that belongs to another, however old', async t => {
  const { files, contents, run, isThere } = await prepare(t, 'of a store')
  const [content] = contents
  assert.ok(content)
  for (const later of [hour, 2 * hour])
    await assert.rejects(
      sweep(files, storeWith('another', { sha256: 'f'.repeat(64), size: 1 }), () => {}, Date.now() + later),
      OtherStore,
    )
  assert.ok(await isThere(content.sha256))
  assert.equal(readFileSync(join(files, 'store'), 'utf8'), 'a store\n')
  assert.equal(statSync(join(files, 'store')).mode & 0o777, 0o600)
  assert.deepEqual(readdirSync(join(files, 'incoming')), [])
  assert.deepEqual(await run(hour), { ...none, setAside: 1 })
})

test('a folder without an owner goes to a store if it is empty or the store knows its contents', async t => {
  const { files, contents } = await prepare(t, 'of a store')
  const [content] = contents
  assert.ok(content)
  rmSync(join(files, 'store'))
  assert.equal(await claimFiles(ownedFolder(files), storeWith('another')), false)
  assert.equal(
    await claimFiles(ownedFolder(files), storeWith('another', { sha256: 'f'.repeat(64), size: 1 })),
    false,
  )
  await assert.rejects(sweep(files, storeWith('another')), OtherStore)
  assert.equal(await claimFiles(ownedFolder(files), storeWith('a store', content)), true)
  assert.equal(await claimFiles(ownedFolder(files), storeWith('another', content)), false)
  assert.equal(await claimFiles(ownedFolder(files), storeWith('a store')), true)
})

test('I7 of the first uploads at once, one that sees the contents of another before its owner still finds its own folder', async t => {
  const { files } = await prepare(t, 'of the first upload')
  const owner = readFileSync(join(files, 'store'))
  rmSync(join(files, 'store'))
  const store = {
    ...storeWith('a store'),
    // The first upload isn't committed yet, so the store doesn't know its contents.
    contents: () => {
      writeFileSync(join(files, 'store'), owner)
      return []
    },
  }
  assert.equal(await claimFiles(ownedFolder(files), store), true)
})

test('D8 nothing is deleted while a backup reads the folder; one that was killed counts for an hour', async t => {
  const { contents, run, isThere, files } = await prepare(t, 'a', 'b')
  const [a, b] = contents.map(({ sha256 }) => sha256)
  assert.deepEqual(await run(hour), { ...none, setAside: 2 })
  const release = await pauseSweeps(files)
  for (const path of readdirSync(join(files, 'orphans'))) utimesSync(join(files, 'orphans', path), 1, 1)
  assert.deepEqual(await run(0), none)
  assert.deepEqual([await isThere(a ?? ''), await isThere(b ?? '')], [true, true])
  await release()
  assert.deepEqual(await run(0), { ...none, deleted: 2 })
  t.mock.timers.enable({ apis: ['setInterval'] })
  const releaseLate = await pauseSweeps(files)
  assert.deepEqual(await run(hour), { ...none, leftovers: 1 })
  // The sweep was only paused, and goes on.
  t.mock.timers.tick(5 * 60 * 1000)
  const incoming = join(files, 'incoming')
  await until(
    'the file that holds the contents',
    () => readdirSync(incoming),
    names => names.length === 1,
  )
  await releaseLate()
  assert.deepEqual(readdirSync(incoming), [])
})
