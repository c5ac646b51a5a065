import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import type { Command } from 'commander'
import { createProgram } from '../../../src/cli/main.ts'
import { StoreUnavailable } from '../../../src/lib/errors.ts'
import { createDatabase, runSql } from '../../support/service/databases.ts'
import { engineIn, storeSettings, test, testOn, useDatabase } from '../../support/service/engines.ts'
import { carrel, cleanEnvironment, entry, type Finished, serve } from '../../support/service/process.ts'
import { startService, temporaryFolder } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

/** Returns a folder without a store which, with PostgreSQL, stands for a database without one. */
function emptyFolder(t: TestContext): string {
  const folder = join(temporaryFolder(t, 'sqlite'), 'data')
  if (engineIn(t) === 'postgres') useDatabase(t, folder, createDatabase)
  return folder
}

async function holdsStore(folder: string): Promise<boolean> {
  const { CARREL_DATABASE_URL } = await storeSettings(folder)
  if (CARREL_DATABASE_URL === undefined) return existsSync(folder)
  return (
    (await runSql(CARREL_DATABASE_URL, "SELECT 1 FROM pg_namespace WHERE nspname = 'carrel'")).length === 1
  )
}

function assertRefused({ code, stdout, stderr }: Finished, says: RegExp): void {
  assert.equal(code, 1, stdout + stderr)
  assert.equal(stdout, '')
  assert.match(stderr, /^carrel: [^\n]+\n$/)
  assert.match(stderr, says)
}

const leavesOf = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf)

const pathOf = (command: Command): string[] =>
  command.parent === null ? [] : [...pathOf(command.parent), command.name()]

/** Returns arguments for a command, with a value for everything that it requires. */
function callOf(command: Command, folder: string): string[] {
  const file = join(folder, 'named.json')
  writeFileSync(file, '{"name": "x"}')
  const known: Readonly<Record<string, string>> = {
    email: 'ruth@example.org',
    '--attributes': file,
    file,
    '--before': '2026-01-01',
    shell: 'bash',
    rule: 'eperson',
    id: 'x',
    answer: 'yes',
    condition: '["null?","x",true]',
    version: '1',
    '--to': 'postgres://nobody@nowhere.invalid/none',
  }
  const anythingFor = (name: string) => known[name] ?? 'x'
  return [
    ...pathOf(command),
    ...command.registeredArguments
      .filter(one => one.required || one.name() in known)
      .map(one => anythingFor(one.name())),
    ...command.options
      // `copy` requires one in one of its two forms.
      .filter(one => (one.mandatory && one.defaultValue === undefined) || one.long === '--to')
      .flatMap(({ long }) => [long ?? '', anythingFor(long ?? '')]),
  ]
}

/**
 * The commands of D6, and those that don't open a store of this installation or report a missing one in their
 * own way.
 */
const mayCreate = ['serve', 'import', 'ingest', 'eperson add', 'group add', 'restore']
const openNone = ['open', 'sso check', 'doctor', 'backup verify', 'types', 'version']

test('D6 every command but those that may create a store fails where there is none', async t => {
  const outer = { ...process.env }
  t.after(() => {
    process.env = outer
  })
  const scratch = temporaryFolder(t, 'sqlite')
  const folder = emptyFolder(t)
  process.env = cleanEnvironment(await storeSettings(folder))
  for (const command of leavesOf(await createProgram())) {
    const name = pathOf(command).join(' ')
    if (mayCreate.includes(name) || openNone.includes(name)) continue
    // Copying always begins with an embedded store.
    if (name === 'copy' && engineIn(t) === 'postgres') continue
    await assert.rejects(
      (await createProgram()).parseAsync(callOf(command, scratch), { from: 'user' }),
      (error: Error) =>
        error instanceof StoreUnavailable && /^no store in .*; set CARREL_DATA/.test(error.message),
      name,
    )
    assert.equal(await holdsStore(folder), false, name)
  }
})

test('D6 a refusal is one line that names the place, and a command that creates a store says so', async t => {
  const folder = emptyFolder(t)
  const { CARREL_DATABASE_URL } = await storeSettings(folder)
  const place = CARREL_DATABASE_URL === undefined ? folder : new URL(CARREL_DATABASE_URL).pathname
  const refused = await carrel(folder, ['files', 'verify'])
  assertRefused(refused, CARREL_DATABASE_URL === undefined ? /set CARREL_DATA\n$/ : /set CARREL_DATABASE_URL/)
  assert.ok(refused.stderr.includes(place), refused.stderr)

  assert.equal((await carrel(folder, ['group', 'add', ' x'])).code, 2)
  assert.equal(await holdsStore(folder), false, 'wrong usage creates nothing')

  const added = await carrel(folder, ['group', 'add', 'Readers'])
  assert.equal(added.code, 0, added.stderr)
  assert.match(added.stdout, /^Added group Readers [^\n]+\n$/)
  assert.match(added.stderr, /^carrel: created a new store in [^\n]+\n$/)
  assert.ok(added.stderr.includes(place), added.stderr)
  assert.ok(!added.stderr.includes(':postgres@'), 'without the password')

  const again = await carrel(folder, ['group', 'add', 'Curators'])
  assert.deepEqual([again.code, again.stderr], [0, ''])
})

for (const [command, args] of Object.entries({
  import: ['letters.csv', '--entity', 'letters', '--key', 'id'],
  ingest: ['.'],
  'eperson add': ['ruth@example.org'],
}))
  testOn('sqlite', `D6 carrel ${command} may create a store`, async t => {
    const folder = emptyFolder(t)
    const source = temporaryFolder(t, 'sqlite')
    writeFileSync(join(source, 'letters.csv'), 'id\n1\n')
    const given = args.map(one => (/^(letters|\.)/.test(one) ? join(source, one) : one))
    const { stderr } = await carrel(folder, [...command.split(' '), ...given])
    assert.ok(stderr.startsWith(`carrel: created a new store in ${folder}\n`), stderr)
  })

testOn('sqlite', 'D6 a source that is not there is named first, and no store is created for it', async t => {
  const folder = emptyFolder(t)
  for (const [command = '', ...args] of [
    ['import', 'nothing.csv', '--entity', 'letters', '--key', 'id'],
    ['ingest', 'nothing'],
  ]) {
    assertRefused(await carrel(folder, [command, ...args]), /nothing/)
    assert.equal(await holdsStore(folder), false, command)
  }
})

/** Returns every file below the folder with its content. */
const contentsOf = (folder: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(name => statSync(join(folder, name)).isFile())
      .map(name => [
        name,
        createHash('sha256')
          .update(readFileSync(join(folder, name)))
          .digest('hex'),
      ]),
  )

async function withRecords(t: TestContext): Promise<string> {
  const service = await startService(t)
  await service.addRecords('letters', 'id', [{ id: 1 }, { id: 2 }])
  await service.stop()
  return service.dataFolder
}

/** Creates a database without a committed transaction, like a copy without its log. */
function writeEmptyDatabase(file: string): void {
  const db = new DatabaseSync(file)
  db.exec('PRAGMA journal_mode = WAL')
  db.close()
}

const lost: Readonly<Record<string, (file: string) => void>> = {
  missing: () => {},
  'of zero bytes': file => writeFileSync(file, ''),
  'a database without tables': writeEmptyDatabase,
}

for (const [what, write] of Object.entries(lost))
  testOn(
    'sqlite',
    `D6 a database that is ${what} beside the rest of its store is refused, and nothing changes`,
    async t => {
      const folder = await withRecords(t)
      const file = join(folder, 'carrel.db')
      for (const kept of [['secret', 'entities'], ['entities'], ['secret']]) {
        const copy = join(folder, `only-${kept.join('-')}`)
        mkdirSync(copy)
        for (const name of kept) cpSync(join(folder, name), join(copy, name), { recursive: true })
        write(join(copy, 'carrel.db'))
        const before = contentsOf(copy)
        const says = new RegExp(`carrel\\.db is (missing|empty), .* ${kept.join(' and ')} `)
        for (const args of [['serve'], ['group', 'add', 'Readers'], ['group', 'list']])
          assertRefused(await carrel(copy, args), says)
        assert.deepEqual(contentsOf(copy), before)
      }
      rmSync(file)
      assertRefused(await carrel(folder, ['serve']), /carrel\.db is missing/)
    },
  )

for (const [what, write] of Object.entries(lost))
  testOn(
    'sqlite',
    `D6 a database that is ${what} and alone is what a first start left, and becomes a store`,
    async t => {
      const folder = emptyFolder(t)
      mkdirSync(folder)
      write(join(folder, 'carrel.db'))
      assertRefused(await carrel(folder, ['group', 'list']), /no store in/)
      const added = await carrel(folder, ['group', 'add', 'Readers'])
      assert.equal(added.code, 0, added.stderr)
      assert.match(added.stderr, /created a new store/)
    },
  )

/** Files that appear in a data folder during the first start, in this order. */
const steps = ['carrel.db', 'carrel.db-wal', 'entities', 'secret']

for (const step of steps)
  testOn(
    'sqlite',
    `D6 D4 a first start killed when ${step} appears leaves a folder that the next one starts on`,
    async t => {
      const folder = emptyFolder(t)
      const child = spawn(process.execPath, [entry, 'serve'], {
        env: cleanEnvironment({ CARREL_DATA: folder, CARREL_PORT: '0' }),
        stdio: 'ignore',
      })
      const ended = new Promise(resolve => child.once('close', resolve))
      await until(`${step}, or the end`, () => existsSync(join(folder, step)) || child.exitCode !== null)
      child.kill('SIGKILL')
      await ended
      const served = await serve(t, folder)
      assert.equal(await served.stop(), 0)
      assert.equal(served.output.stderr, '')
    },
  )
