import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { readManifest } from '../../../src/admin/backup/manifest.ts'
import { commandEvent } from '../../../src/cli/store.ts'
import { folderOf } from '../../../src/config/files-place.ts'
import type { Client } from '../../support/clients/client.ts'
import { list, listPath } from '../../support/clients/listings.ts'
import { filesIn } from '../../support/data/archives.ts'
import { change, rowsOf } from '../../support/data/attempts.ts'
import {
  addLetters,
  assertDone,
  assertRefused,
  type BackupSaid,
  backUp,
  emptyPlace,
  modesBelow,
  placeIn,
  restore,
  usedService,
  verify,
} from '../../support/data/backups.ts'
import { isLong, repeats } from '../../support/scale.ts'
import { runSql } from '../../support/service/databases.ts'
import {
  allEngines,
  engineIn,
  storeSettings,
  test,
  testOn,
  testOnOne,
} from '../../support/service/engines.ts'
import { withTables } from '../../support/service/exposed-tables.ts'
import { carrel, entry, environmentWithNode, repository, run, serve } from '../../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../../support/service/service.ts'

const manifestOf = (path: string) => readManifest(readFileSync(path, 'utf8'), path)

async function assertSame(before: Client, now: Client, path: string): Promise<void> {
  const [old, restored] = await Promise.all(
    [before, now].map(async client => {
      const response = await client.get(path, { accept: 'application/x-ndjson' })
      return [response.status, await response.text()]
    }),
  )
  assert.equal(old?.[0], 200, `${path}: ${old?.[1]}`)
  assert.deepEqual(restored, old, path)
}

test('D8 D15 a backup restores into either engine: records, items, files, people, trail and tokens', async t => {
  const service = await usedService(t)
  const before = service.client()
  await before.login('root@example.org')
  // Characters with a meaning in a URI, which is how some files are opened in SQLite.
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups #1?%41')
  assert.equal((await service.storage.entities.versions('books')).length, 2)
  const said = await backUp(service.dataFolder, folder)
  assert.deepEqual(said.lost, [])
  assert.equal(said.contents.count, 9)
  assert.equal(said.copied.count, 9)
  assert.match(assertDone(await verify(folder)), /: intact, 9 files\n$/)
  // Backups made during ingests can be restored into their own engine, too.
  for (const engine of allEngines.filter(one => isLong || one !== engineIn(t))) {
    const place = emptyPlace(t, engine)
    assertDone(await restore(place, folder, '--keep-sessions'))
    const restored = await startService(t, { dataFolder: place })
    const now = restored.client()
    now.token = before.token
    const entities = await list<{ name: string; fields: { name: string }[] }>(before, '')
    assert.equal(entities.length, 7)
    for (const { name, fields } of entities) {
      // The old trail continues, and so does the new one.
      if (name === 'audit-events') continue
      await assertSame(before, now, listPath(name))
      for (const { name: field } of fields)
        await assertSame(before, now, listPath(name, { order_by: [{ field, order: 'desc' }], limit: 3 }))
    }
    const events = async (client: Client) =>
      (await list<{ id: number; event: string; object: string }>(client, 'audit-events')).toSorted(
        (a, b) => a.id - b.id,
      )
    const trail = await events(now)
    const last = trail.findIndex(({ event }) => event === 'store.restore')
    assert.equal(trail[last]?.object, said.name)
    assert.deepEqual(trail.slice(0, last), (await events(before)).slice(0, last))
    assert.equal((await now.tryLogin('ruth@example.org', passwordOf('ruth@example.org'))).status, 200)
    for (const { uuid } of await list<{ uuid: string }>(now, 'bitstreams'))
      await assertSame(before, now, `/api/core/bitstreams/${uuid}/content`)
    assert.match(assertDone(await carrel(place, ['files', 'verify'])), /all intact/)
    assert.match(assertDone(await carrel(place, ['files', 'clean'])), /0 set aside/)
    // Versions that were replaced are not in a backup (D15).
    assert.deepEqual(await restored.storage.entities.versions('books'), [])
    // Restored data can be changed and backed up again.
    await restored.addRecords('books', 'id', [{ id: 5 }])
    await restored.storage.people.setEnabled('ruth@example.org', false, commandEvent('eperson.disable'))
    await restored.storage.secrets.rotate(commandEvent('secret.rotate'))
    assert.equal(await now.isLoggedIn(before.token), true)
    await addLetters(t, restored, 1, `new-${engine}`)
    assert.equal((await backUp(place, join(temporaryFolder(t, 'sqlite'), 'again'))).contents.count, 11)
    await restored.stop()
  }
})

test('D8 a restore ends all sessions unless it is told to keep them, because a logout may have come after the backup, and forgets wrong passwords', async t => {
  const service = await usedService(t, 1)
  const [root, ruth] = [service.client(), service.client()]
  await root.login('root@example.org')
  await ruth.login('ruth@example.org')
  await service.client().tryLogin('none@example.org', 'wrong')
  assert.equal((await rowsOf(service)).length > 0, true)
  const mark = Date.now() + 60_000
  await change(service.dataFolder, `UPDATE state SET mark = ${mark}`)
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  await backUp(service.dataFolder, folder)
  await ruth.post('/api/authn/logout')
  for (const engine of allEngines) {
    const place = emptyPlace(t, engine)
    assert.match(assertDone(await restore(place, folder)), /Everyone has to log in again/)
    const anyone = (await startService(t, { dataFolder: place })).client()
    for (const client of [root, ruth]) assert.equal(await anyone.isLoggedIn(client.token), false)
    const kept = emptyPlace(t, engine)
    assert.match(
      assertDone(await restore(kept, folder, '--keep-sessions')),
      /including those that have been logged out since/,
    )
    assert.equal(Number((await rowsOf({ dataFolder: kept }, 'state'))[0]?.mark), mark)
    assert.deepEqual(await rowsOf({ dataFolder: kept }), [])
    const there = (await startService(t, { dataFolder: kept })).client()
    for (const client of [root, ruth]) assert.equal(await there.isLoggedIn(client.token), true)
  }
})

testOnOne(
  'D8 a second backup copies only what is new, and what no backup refers to any more is removed',
  async t => {
    const service = await usedService(t, 3)
    const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
    const first = await backUp(service.dataFolder, folder)
    assert.deepEqual([first.contents.count, first.copied.count], [7, 7])
    const entitiesOf = async ({ name }: { name: string }) =>
      manifestOf(join(folder, 'backups', `${name}.json`)).files.filter(({ path }) =>
        path.startsWith('entities/'),
      )
    await addLetters(t, service, 2, 'more')
    const again = await backUp(service.dataFolder, folder)
    assert.deepEqual([again.contents.count, again.copied.count], [11, 4])
    assert.equal((await backUp(service.dataFolder, folder)).copied.count, 0)
    assert.deepEqual(await entitiesOf(again), await entitiesOf(first))
    const deleted = await carrel(service.dataFolder, ['item', 'list', '--json'])
    const [{ identifier }] = JSON.parse(deleted.stdout) as [{ identifier: string }]
    await service.storage.repository.deleteItem(identifier, commandEvent('item.delete'))
    await service.addRecords('several', 'id', [{ id: 1 }])
    const kept = await backUp(service.dataFolder, folder, '--keep', '2')
    assert.equal(kept.removed.backups.length, 2)
    const last = await backUp(service.dataFolder, folder, '--keep', '1')
    assert.equal(last.removed.backups.length, 2)
    assert.equal(last.contents.count, 9)
    const manifest = manifestOf(join(folder, 'backups', `${last.name}.json`))
    const stored = filesIn(join(folder, 'contents'))
    assert.equal(stored.length, 9 + manifest.files.length, 'nothing that the last backup does not need')
    assert.equal(readdirSync(join(folder, 'backups')).length, 1)
    assertDone(await verify(folder))
  },
)

testOnOne('D8 a new backup counts as the newest, even if a clock that was ahead made another', async t => {
  const service = await usedService(t, 1)
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  const { name } = await backUp(service.dataFolder, folder)
  const ahead = '2099-01-01T00-00-00-000Z'
  renameSync(join(folder, 'backups', `${name}.json`), join(folder, 'backups', `${ahead}.json`))
  const said = assertDone(await carrel(service.dataFolder, ['backup', folder]))
  assert.match(said, new RegExp(`has ${ahead}, which was made by a clock that is ahead`))
  const last = await backUp(service.dataFolder, folder, '--keep', '1')
  assert.deepEqual(readdirSync(join(folder, 'backups')), [`${last.name}.json`])
})

testOnOne('D8 a backup keeps the backups of another store that are in the folder', async t => {
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  const [one, other] = [await usedService(t, 1), await usedService(t, 2)]
  for (const { dataFolder } of [one, other, one, other]) await backUp(dataFolder, folder, '--keep', '1')
  assert.equal(readdirSync(join(folder, 'backups')).length, 2)
  assertDone(await verify(folder))
})

testOnOne('D8 the trail says when the last backup was completed', async t => {
  const service = await usedService(t, 1)
  const { name } = await backUp(service.dataFolder, join(temporaryFolder(t, 'sqlite'), 'backups'))
  const root = service.client()
  await root.login('root@example.org')
  const events = await list<{ event: string; object: string }>(root, 'audit-events')
  assert.deepEqual(
    events.filter(({ event }) => event === 'store.backup').map(({ object }) => object),
    [name],
  )
})

test('D8 backups during ingests, imports, logins and sweeps are whole, each of them', async t => {
  const service = await usedService(t, 1)
  // Files left by a restore that was killed when its store was complete.
  const { dataFolder, files: place } = service.config
  const filesFolder = folderOf(place)
  const left = ['restoring', 'restored'].map(name =>
    join(engineIn(t) === 'sqlite' ? dataFolder : filesFolder, name, 'lock'),
  )
  for (const path of left) {
    mkdirSync(dirname(path))
    writeFileSync(path, '')
  }
  const served = await serve(t, service.dataFolder)
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  let over = false
  const busy = [
    async (round: number) => addLetters(t, service, 3, `busy-${round}`),
    async (round: number) => service.addRecords('books', 'id', [{ id: round }, { id: round + 1 }]),
    async () => {
      const client = service.client()
      await client.login('ruth@example.org')
      await client.post('/api/authn/logout')
    },
    async () => {
      const [item] = await service.storage.repository.listItems('', 1)
      if (item) await service.storage.repository.deleteItem(item.identifier, commandEvent('item.delete'))
      assertDone(await carrel(service.dataFolder, ['files', 'clean']))
    },
  ].map(async work => {
    for (let round = 0; !over; round++) await work(round)
  })
  const names: string[] = []
  try {
    for (let round = 0; round < repeats(2, 3); round++) {
      const { name, lost } = await backUp(service.dataFolder, folder)
      assert.deepEqual(lost, [])
      names.push(name)
    }
  } finally {
    over = true
    await Promise.all(busy)
  }
  for (const path of left) assert.equal(existsSync(dirname(path)), false, 'the service has removed it')
  assertDone(await verify(folder))
  for (const [at, name] of names.entries()) {
    const place = emptyPlace(t, allEngines[at % 2] ?? 'sqlite')
    assertDone(await restore(place, folder, '--backup', name))
    assert.match(assertDone(await carrel(place, ['files', 'verify'])), /all intact/)
    const restored = await startService(t, { dataFolder: place })
    const reader = restored.client()
    await reader.login('ruth@example.org')
    const books = await list<{ id: number }>(reader, 'books')
    assert.equal(books.length, 2, 'one version or another, never a mixture')
    const [first = -1, second] = books.map(({ id }) => id)
    // The first backup may have been made before the first import, and then has the earlier records.
    assert.ok(first + 1 === second || (first === 2 && second === 7), `${first}, ${second}`)
    await restored.stop()
  }
  assert.equal(await served.stop(), 0)
})

testOnOne('D8 contents that the store has lost are named, and the rest is backed up', async t => {
  const service = await usedService(t, 2)
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  const files = folderOf(service.config.files)
  const [gone = '', changed = ''] = filesIn(files)
  const bytes = readFileSync(join(files, changed))
  rmSync(join(files, gone))
  writeFileSync(join(files, changed), 'something else')
  const { code, stdout } = await carrel(service.dataFolder, ['backup', folder])
  assert.equal(code, 1, stdout)
  for (const path of [gone, changed])
    assert.match(stdout, new RegExp(`missing or damaged in the store: ${path.slice(6)} of letters/`))
  assert.match(assertDone(await verify(folder)), /which the store had lost\n.*: intact, 5 files/s)
  const place = emptyPlace(t, 'sqlite')
  assert.match(
    assertDone(await restore(place, folder)),
    new RegExp(`the store had lost it: ${gone.slice(6)}`),
  )
  assert.equal(filesIn(join(place, 'files')).length, 3)
  // Once the store has the content again, the next backup contains it, too.
  writeFileSync(join(files, changed), bytes)
  const again = JSON.parse(
    (await carrel(service.dataFolder, ['backup', folder, '--json'])).stdout,
  ) as BackupSaid
  assert.deepEqual(
    again.lost.map(({ sha256 }) => sha256),
    [gone.slice(6)],
  )
  assert.equal(again.copied.count, 1)
})

testOnOne('D8 only the owner can read a backup and what is restored, whatever the umask', async t => {
  const service = await usedService(t, 1)
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  const place = join(emptyPlace(t, 'sqlite'), 'data')
  const withoutMask = async (dataFolder: string, ...args: string[]) =>
    run('sh', ['-c', 'umask 0; exec node "$@"', 'sh', entry, ...args], {
      env: environmentWithNode({ ...(await storeSettings(dataFolder)), CARREL_DATA: dataFolder }),
    })
  const unpacked = temporaryFolder(t, 'sqlite')
  for (const part of ['backups', 'contents']) mkdirSync(join(unpacked, part), { mode: 0o755 })
  for (const to of [folder, unpacked]) assertDone(await withoutMask(service.dataFolder, 'backup', to))
  assertDone(await withoutMask(place, 'restore', folder))
  for (const top of [folder, place, unpacked]) {
    assert.equal((statSync(top).mode & 0o777).toString(8), '700')
    for (const [path, mode] of modesBelow(top))
      assert.equal(mode, statSync(join(top, path)).isDirectory() ? '700' : '600', path)
  }
})

testOnOne(
  'D8 backup verify names what is damaged or missing, and restore refuses it and leaves nothing',
  async t => {
    const service = await usedService(t, 2)
    const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
    const { name } = await backUp(service.dataFolder, folder)
    const manifestPath = join(folder, 'backups', `${name}.json`)
    const { files } = manifestOf(manifestPath)
    const contents = filesIn(join(folder, 'contents'))
      .map(path => join(folder, 'contents', path))
      .filter(path => !files.some(file => path === placeIn(folder, file)))
    const targets = [
      ...files.map(file => [placeIn(folder, file), file.path] as const),
      ...contents.slice(0, 2).map(path => [path, 'letters/letter-000'] as const),
      [manifestPath, `${name}.json`] as const,
    ]
    const damages = [
      (bytes: Buffer) =>
        Buffer.concat([bytes.subarray(0, -2), Buffer.from([(bytes.at(-2) ?? 0) ^ 1, bytes.at(-1) ?? 0])]),
      (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1),
      () => undefined,
    ]
    for (const [at, [path, says]] of targets.entries()) {
      const bytes = readFileSync(path)
      const damaged =
        damages[(at + (path === manifestPath ? 1 : 0)) % (path === manifestPath ? 2 : 3)]?.(bytes)
      if (damaged === undefined) rmSync(path)
      else writeFileSync(path, damaged)
      const { code, stdout, stderr } = await verify(folder)
      assert.equal(code, 1, path + stdout + stderr)
      assert.ok(stdout.includes(says) && stdout.includes(path), `${path}: ${stdout}`)
      for (const engine of allEngines) {
        const place = emptyPlace(t, engine)
        assertRefused(await restore(place, folder), /damaged|missing|bytes|not a database/)
        assert.deepEqual(filesIn(place), [], 'nothing is left')
        assertRefused(await carrel(place, ['eperson', 'list']), /no store/)
      }
      writeFileSync(path, bytes)
    }
    assertDone(await verify(folder))
  },
)

testOnOne('D8 restore refuses a place that is not empty, and changes nothing there', async t => {
  const service = await usedService(t, 1)
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  await backUp(service.dataFolder, folder)
  const before = filesIn(service.dataFolder).length
  assertRefused(await restore(service.dataFolder, folder), /not empty|has a store already/)
  assert.equal((await service.storage.people.listEpersons()).length, 3)
  assert.equal(filesIn(service.dataFolder).length, before)
  for (const [path, says, text = 'mine'] of [
    ['secret', /has secret/],
    ['carrel.db-wal', /has carrel.db-wal/],
    [`files/ab/cd/${'a'.repeat(64)}`, /place of files is not empty/],
    ['files/store', /place of files is not empty/],
    ['files/store', /has files of a restore into elsewhere, which is not finished/, 'restoring elsewhere'],
  ] as const) {
    const place = emptyPlace(t, 'sqlite')
    mkdirSync(join(place, path, '..'), { recursive: true })
    writeFileSync(join(place, path), text)
    assertRefused(await restore(place, folder), says)
    assert.equal(readFileSync(join(place, path), 'utf8'), text)
    assert.equal(existsSync(join(place, 'carrel.db')), false)
  }
})

testOnOne(
  'D8 restore refuses a backup of a newer version, and of a format that it does not know',
  async t => {
    const service = await usedService(t, 1)
    const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
    const { name } = await backUp(service.dataFolder, folder)
    const path = join(folder, 'backups', `${name}.json`)
    const manifest = manifestOf(path)
    const write = (changed: object) => {
      const text = JSON.stringify({ ...manifest, ...changed })
      writeFileSync(path, `${text}\n${hash('sha256', text)}\n`)
    }
    for (const newer of [
      { schema: manifest.schema + 1, carrel: '99.0.0' },
      { format: manifest.format + 1, carrel: '99.0.0' },
      { format: manifest.format - 1, carrel: '99.0.0' },
    ]) {
      write(newer)
      for (const engine of allEngines) {
        const place = emptyPlace(t, engine)
        assertRefused(await restore(place, folder), /was made by Carrel 99\.0\.0/)
        assert.deepEqual(filesIn(place), [])
      }
    }
  },
)

testOnOne('D8 a folder with something else in it is refused, and so is one that is in use', async t => {
  const service = await usedService(t, 1)
  const other = temporaryFolder(t, 'sqlite')
  writeFileSync(join(other, 'letter.txt'), 'mine')
  assertRefused(await carrel(service.dataFolder, ['backup', other]), /not empty and holds no backups/)
  assertRefused(await verify(other), /holds no backups of Carrel/)
  assertRefused(await restore(emptyPlace(t, 'sqlite'), other), /holds no backups of Carrel/)
  assert.deepEqual(readdirSync(other), ['letter.txt'])
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  await backUp(service.dataFolder, folder)
  const { DatabaseSync } = await import('node:sqlite')
  const lock = new DatabaseSync(join(folder, 'carrel-backups.lock'))
  lock.exec('BEGIN EXCLUSIVE')
  for (const args of [
    ['backup', folder],
    ['backup', 'verify', folder],
  ])
    assertRefused(await carrel(service.dataFolder, args), /another backup or restore may be using it/)
  lock.close()
  assertDone(await verify(folder))
})

testOnOne('D8 a backup can be streamed, and restored from the stream or unpacked', async t => {
  const service = await usedService(t, 2)
  const scratch = temporaryFolder(t, 'sqlite')
  const tar = join(scratch, 'backup.tar')
  const shell = async (dataFolder: string, command: string) =>
    run('sh', ['-c', command, 'sh', tar, join(scratch, 'unpacked'), entry], {
      env: environmentWithNode(await storeSettings(dataFolder)),
      cwd: repository,
    })
  for (const options of [['--keep', '3'], ['--json']])
    assert.equal((await carrel(service.dataFolder, ['backup', '-', ...options])).code, 2)
  const made = await shell(service.dataFolder, 'node "$3" backup - > "$1"')
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stderr, /Backup \S+: 5 files/)
  const place = emptyPlace(t, 'sqlite')
  assertDone(await shell(place, 'node "$3" restore - < "$1"'))
  assert.match(assertDone(await carrel(place, ['files', 'verify'])), /^5 files read .* all intact/)
  assertDone(await shell(place, 'mkdir "$2" && tar -x -f "$1" -C "$2"'))
  assert.match(assertDone(await verify(join(scratch, 'unpacked'))), /intact, 5 files/)
  // The archive is cut off, or is not one of Carrel's.
  const whole = readFileSync(tar)
  for (const bytes of [
    whole.subarray(0, 100_000),
    whole.subarray(0, -4096),
    Buffer.from('x'.repeat(2_000)),
    Buffer.alloc(0),
  ]) {
    writeFileSync(tar, bytes)
    const refused = emptyPlace(t, 'sqlite')
    assertRefused(await shell(refused, 'node "$3" restore - < "$1"'), /ends early|not a backup/)
    assert.deepEqual(filesIn(refused), [])
  }
})

testOnOne(
  'D8 a streamed backup that ends early leaves nothing in the folder for temporary files',
  async t => {
    const service = await usedService(t, 1)
    const temporary = temporaryFolder(t, 'sqlite')
    const env = environmentWithNode({ ...(await storeSettings(service.dataFolder)), TMPDIR: temporary })
    const backup = `node '${entry}' backup -`
    await run('sh', ['-c', `${backup} | true`], { env, cwd: repository })
    assert.deepEqual(readdirSync(temporary), [])
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      // The output is not read, so the command is still writing when the signal comes.
      const child = spawn('sh', ['-c', `exec ${backup}`], {
        env,
        cwd: repository,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      const ended = once(child, 'exit')
      await once(child.stdout, 'readable')
      assert.equal(readdirSync(temporary).length, 1)
      child.kill(signal)
      assert.equal((await ended)[1], signal)
      assert.deepEqual(readdirSync(temporary), [])
    }
  },
)

testOn(
  'postgres',
  'D8 exposed tables are not in a backup; restore says how to expose them again',
  async t => {
    const { service, command, url } = await withTables(
      t,
      'CREATE TABLE art (id integer PRIMARY KEY, title text); INSERT INTO art VALUES (1, NULL)',
    )
    assertDone(await command('public.art', '--entity', 'art', '--read', 'anonymous'))
    const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
    await backUp(service.dataFolder, folder)
    await service.stop()
    await runSql(url, 'DROP SCHEMA carrel CASCADE')
    rmSync(join(service.dataFolder, 'files'), { recursive: true, force: true })
    const said = assertDone(await restore(service.dataFolder, folder))
    const [, again = ''] = /^ {2}carrel (expose .*)$/m.exec(said) ?? []
    assert.equal(again, "expose 'public.art' --entity art --key 'id' --fields 'id,title' --read 'anonymous'")
    assertDone(await carrel(service.dataFolder, again.replaceAll("'", '').split(' ')))
    const restored = await startService(t, { dataFolder: service.dataFolder })
    assert.deepEqual(await list(restored.client(), 'art'), [{ id: 1, title: null }])
  },
)
