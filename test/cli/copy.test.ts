import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { folderOf } from '../../src/config/files-place.ts'
import { assertCounts, filesIn, ingest, withoutBar, writeLetters } from '../support/data/archives.ts'
import { createDatabase, runSql } from '../support/service/databases.ts'
import { carrel, type Finished } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'

function assertDone({ code, stdout, stderr }: Finished): string {
  assert.equal(code, 0, stdout + stderr)
  assert.equal(withoutBar(stderr), '')
  return stdout
}

function assertRefused({ code, stdout, stderr }: Finished, expected: 1 | 2, says: RegExp): void {
  assert.equal(code, expected, stdout + stderr)
  assert.equal(stdout, '')
  assert.match(withoutBar(stderr), /^carrel: [^\n]+\n$/)
  assert.match(stderr, says)
}

function withoutPassword(address: string) {
  const url = new URL(address)
  const password = decodeURIComponent(url.password)
  url.password = ''
  return { to: url.href, password }
}

const copy = (dataFolder: string, url: string, ...more: readonly string[]) => {
  const { to, password } = withoutPassword(url)
  return carrel(dataFolder, ['copy', '--to', to, ...more], { env: { PGPASSWORD: password } })
}

/** Returns the files of a folder with their SHA-256, without those that SQLite creates for every reader. */
const hashesOf = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && !/-(wal|shm)$/.test(entry.name))
      .map(entry => join(entry.parentPath, entry.name))
      .map(path => [path, createHash('sha256').update(readFileSync(path)).digest('hex')]),
  )

/** Creates an embedded store with two items that have files, and stops it. */
async function storeWithFiles(t: TestContext): Promise<Service> {
  const service = await startService(t, { engine: 'sqlite' })
  await service.addEperson('ruth@example.org')
  await service.addRecords('letters', 'id', [{ id: 1 }])
  assertCounts(await ingest(service.dataFolder, writeLetters(join(temporaryFolder(t), 'letters'), 2)), {
    added: 2,
  })
  await service.stop()
  return service
}

test('D2 copying changes nothing in the store that is copied, neither when it succeeds nor when it fails', async t => {
  const { dataFolder } = await storeWithFiles(t)
  const url = await createDatabase(t)
  const before = hashesOf(dataFolder)
  assertRefused(await copy(dataFolder, Object.assign(new URL(url), { port: '1' }).href), 1, /PostgreSQL/)
  assert.deepEqual(hashesOf(dataFolder), before)
  assertDone(await copy(dataFolder, url))
  assert.deepEqual(hashesOf(dataFolder), before)
  assertRefused(await copy(dataFolder, url), 1, /not empty.*new database/)
  assert.deepEqual(hashesOf(dataFolder), before)
})

test('D2 a store of an older or a newer schema is not copied, and stays as it is', async t => {
  const { dataFolder } = await storeWithFiles(t)
  const url = await createDatabase(t)
  // No connection may stay open here: this process reads the files, which releases the locks that it holds on
  // them (https://sqlite.org/howtocorrupt.html §2.2).
  const sql = (statement: string) => {
    const db = new DatabaseSync(join(dataFolder, 'carrel.db'))
    const row = db.prepare(statement).get()
    db.close()
    return row
  }
  const known = (sql('PRAGMA user_version') as { user_version: number }).user_version
  for (const [change, says] of [
    [`user_version = ${known + 1}`, /schema version \d+.*use a newer Carrel/],
    ['application_id = 0', /carrel\.db is not a database of Carrel; set CARREL_DATA/],
    ['user_version = 0', /no store in .*CARREL_DATA/],
  ] as const) {
    sql(`PRAGMA ${change}`)
    const before = hashesOf(dataFolder)
    assertRefused(await copy(dataFolder, url), 1, says)
    assert.deepEqual(hashesOf(dataFolder), before)
  }
  assert.deepEqual(await runSql(url, "SELECT 1 FROM pg_namespace WHERE nspname = 'carrel'"), [])
})

test('D2 a password on the command line is refused; PGPASSWORD and --password-file are read', async t => {
  const { dataFolder } = await storeWithFiles(t)
  const [first, second] = [await createDatabase(t), await createDatabase(t)]
  const { to, password } = withoutPassword(first)
  for (const given of [first, `${to}?password=${password}`]) {
    const refused = await carrel(dataFolder, ['copy', '--to', given])
    assertRefused(refused, 2, /PGPASSWORD/)
    assert.ok(!refused.stderr.includes(password), refused.stderr)
  }
  assertDone(await copy(dataFolder, first))
  const file = join(temporaryFolder(t), 'password')
  const { to: other } = withoutPassword(second)
  const fromFile = () => carrel(dataFolder, ['copy', '--to', other, '--password-file', file])
  assertRefused(await fromFile(), 1, /password can't be read \(ENOENT\)/)
  writeFileSync(file, 'wrong %2F:@\n')
  assertRefused(await fromFile(), 1, /password authentication failed/)
  writeFileSync(file, `${password}\n`)
  assertDone(await fromFile())
})

test('D2 until a copy is finished the folder of files stays with the embedded store, then it is the copy’s', async t => {
  const old = await storeWithFiles(t)
  const files = folderOf(old.config.files)
  const url = await createDatabase(t)
  const steps = assertDone(await copy(old.dataFolder, url))
  for (const step of [`CARREL_FILES to ${files}.`, '`carrel copy --finish`'])
    assert.ok(steps.includes(step), steps)
  const env = { CARREL_DATABASE_URL: url, CARREL_FILES: files }
  const now = temporaryFolder(t, 'sqlite')
  const owner = () => readFileSync(join(files, 'store'), 'utf8')
  const before = owner()
  const contents = filesIn(files)

  // The copy adds nothing to a folder in which the embedded store would remove it, and removes nothing there
  // itself.
  const later = writeLetters(join(temporaryFolder(t), 'later'), 2, at => `later ${at}`)
  for (const args of [
    ['ingest', later],
    ['files', 'clean'],
  ])
    assertRefused(await carrel(now, args, { env }), 1, /still belongs.*`carrel copy --finish`/)
  assert.deepEqual(filesIn(files), contents)
  assert.equal(owner(), before)
  assertDone(await carrel(now, ['files', 'verify'], { env }))
  // With the embedded store, the command still works.
  assertDone(await carrel(old.dataFolder, ['files', 'clean']))

  // The second time is like the one after a command that was killed before it could report success.
  for (let round = 0; round < 2; round++) {
    assert.match(assertDone(await carrel(now, ['copy', '--finish'], { env })), /belongs to the copy/)
    assert.notEqual(owner(), before)
  }
  assertCounts(JSON.parse(assertDone(await carrel(now, ['ingest', later, '--json'], { env }))), { added: 2 })
  for (let round = 0; round < 2; round++) {
    for (const path of filesIn(files)) utimesSync(join(files, path), 1, 1)
    assertRefused(await carrel(old.dataFolder, ['files', 'clean']), 1, /belongs to another store/)
    // CARREL_DATABASE_URL is missing.
    const ingested = await carrel(old.dataFolder, ['ingest', later])
    assert.equal(ingested.code, 0)
    assert.match(withoutBar(ingested.stderr), /^carrel: no files were cleaned up: [^\n]*\n$/)
  }
  for (const words of [['verify'], ['clean']]) assertDone(await carrel(now, ['files', ...words], { env }))
  for (const path of contents.filter(one => one !== 'store')) assert.ok(existsSync(join(files, path)), path)
})

test('D2 --finish is refused for what is no copy, and for the folder of a third store', async t => {
  const old = await storeWithFiles(t)
  assertRefused(await carrel(old.dataFolder, ['copy', '--finish']), 1, /CARREL_DATABASE_URL/)
  const fresh = await createDatabase(t)
  const files = folderOf(old.config.files)
  const owner = readFileSync(join(files, 'store'), 'utf8')
  const now = temporaryFolder(t, 'sqlite')
  await startService(t, { dataFolder: now, env: { CARREL_DATABASE_URL: fresh } })
  const finish = (url: string, folder: string) =>
    carrel(now, ['copy', '--finish', '--json'], { env: { CARREL_DATABASE_URL: url, CARREL_FILES: folder } })
  assertRefused(await finish(fresh, files), 1, /not made by `carrel copy`/)
  const url = await createDatabase(t)
  assertDone(await copy(old.dataFolder, url))
  const third = await storeWithFiles(t)
  assertRefused(await finish(url, folderOf(third.config.files)), 1, /belongs to another store/)
  assert.equal(readFileSync(join(files, 'store'), 'utf8'), owner)
  const { store } = JSON.parse(assertDone(await finish(url, files))) as { store: string }
  assert.equal(readFileSync(join(files, 'store'), 'utf8'), `${store}\n`)
})

test('D1 copy takes either --to or --finish', async t => {
  const folder = temporaryFolder(t, 'sqlite')
  for (const args of [[], ['--to', 'postgres://u@h/d', '--finish']])
    assertRefused(await carrel(folder, ['copy', ...args]), 2, /either --to <url> or --finish/)
})
