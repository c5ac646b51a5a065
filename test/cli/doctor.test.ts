import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Finding } from '../../src/lib/findings.ts'
import { openDatabase } from '../../src/storage/sqlite/driver.ts'
import { secretsOf, spellingsOf } from '../support/clients/jwt.ts'
import { withSingleSignOn } from '../support/providers/openid-flow.ts'
import { atEnd } from '../support/service/at-end.ts'
import { createDatabase, runSql } from '../support/service/databases.ts'
import { databaseOf, engineIn, runSqlIn, test, testOn, useDatabase } from '../support/service/engines.ts'
import { carrel, type Finished, serve } from '../support/service/process.ts'
import { passwordOf, startService, temporaryFolder } from '../support/service/service.ts'

type Settings = Readonly<Record<string, string>>

const examine = (dataFolder: string, env: Settings = {}): Promise<Finished> =>
  carrel(dataFolder, ['doctor', '--json'], { env })

/** Returns the doctor's findings about a subject, each as `level: what`. */
async function findings(dataFolder: string, about: string, env: Settings = {}): Promise<string[]> {
  const { code, stdout, stderr } = await examine(dataFolder, env)
  assert.equal(stderr, '')
  const all = JSON.parse(stdout) as Finding[]
  const isWell = all.every(({ level }) => level === 'ok' || level === 'note')
  assert.equal(code, isWell ? 0 : 1, 'the exit code says whether there is a warning or an error')
  for (const { level, advice } of all) assert.ok(advice || level === 'ok' || level === 'note')
  return all.filter(one => one.about === about).map(({ level, what }) => `${level}: ${what}`)
}

/** Runs SQL in the store past the service; `event` is the name of the trail's table on this engine. */
async function change(dataFolder: string, sql: (event: string) => string): Promise<void> {
  if ((await databaseOf(dataFolder)) !== undefined) {
    await runSqlIn(dataFolder, sql('carrel.event'))
    return
  }
  const db = openDatabase(join(dataFolder, 'carrel.db'), { mode: 'write' })
  db.exec(sql('event'))
  db.close()
}

/** Records an event of this name with a time this number of days ago. */
const record = (dataFolder: string, name: string, daysAgo: number) => {
  const time = new Date(Date.now() - daysAgo * 86_400_000).toISOString()
  return change(
    dataFolder,
    event => `INSERT INTO ${event} (time, event, outcome) VALUES ('${time}', '${name}', 'success')`,
  )
}

/** Returns all files of a folder with their contents and times of change. */
const snapshot = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .toSorted()
    .map(path => [path, readFileSync(path).toString('base64')])

/** Creates a store with an administrator, on which no service runs. */
async function store(t: TestContext): Promise<string> {
  const service = await startService(t)
  await service.addEperson('ruth@example.org', { admin: true })
  await service.stop()
  return service.dataFolder
}

test('D8 doctor finds an administrator, or says how to add one', async t => {
  const dataFolder = await store(t)
  assert.deepEqual(await findings(dataFolder, 'administrator'), ['ok: 1 enabled administrator'])
  assert.equal((await carrel(dataFolder, ['eperson', 'disable', 'ruth@example.org'])).code, 0)
  assert.deepEqual(await findings(dataFolder, 'administrator'), [
    'warning: there is no enabled administrator',
  ])
})

test('D8 doctor counts an administrator in a group inside of the administrators, and each only once', async t => {
  const service = await startService(t)
  await service.addEperson('ruth@example.org', { admin: true, groups: ['Office'] })
  await service.stop()
  const { dataFolder } = service
  const run = async (...args: string[]) => assert.equal((await carrel(dataFolder, args)).code, 0)
  const counted = () => findings(dataFolder, 'administrator')
  await run('group', 'add-group', 'Administrator', 'Office')
  assert.deepEqual(await counted(), ['ok: 1 enabled administrator'])
  await run('group', 'leave', 'Administrator', 'ruth@example.org')
  assert.deepEqual(await counted(), ['ok: 1 enabled administrator'])
  await run('eperson', 'disable', 'ruth@example.org')
  assert.deepEqual(await counted(), ['warning: there is no enabled administrator'])
})

test('D8 L17 doctor lists access tokens of those who lack the factor that the setting demands', async t => {
  const service = await startService(t)
  await service.addEperson('ruth@example.org', { admin: true })
  await service.addEperson('reader@example.org')
  await service.stop()
  const { dataFolder } = service
  const listed = (setting: string) => findings(dataFolder, 'access tokens', { CARREL_SECOND_FACTOR: setting })
  assert.deepEqual(await listed('everybody'), [])
  for (const email of ['ruth@example.org', 'reader@example.org']) {
    const { code, stderr } = await carrel(dataFolder, ['access-token', 'add', email, '--name', 'nightly'])
    assert.equal(code, 0, stderr)
  }
  const said = (setting: string, names: string) =>
    `note: access tokens from before CARREL_SECOND_FACTOR=${setting} go on, though no second factor is enrolled: ${names}`
  assert.deepEqual(await listed('optional'), [])
  assert.deepEqual(await listed('administrators'), [said('administrators', 'ruth@example.org')])
  assert.deepEqual(await listed('everybody'), [said('everybody', 'reader@example.org, ruth@example.org')])
})

test('D8 doctor reads the newest backup and the newest event from the audit trail', async t => {
  const dataFolder = await store(t)
  assert.match((await findings(dataFolder, 'backup')).join(), /^note: no backup is known/)
  await record(dataFolder, 'store.backup', 30)
  assert.deepEqual(await findings(dataFolder, 'backup'), ['warning: the last backup was made 30 days ago'])
  await record(dataFolder, 'store.backup', 0)
  assert.deepEqual(await findings(dataFolder, 'backup'), ['ok: the last backup was made less than a day ago'])
  assert.ok((await findings(dataFolder, 'clock')).includes('ok: this clock is not behind the audit trail'))
  await record(dataFolder, 'login', -1)
  assert.match(
    (await findings(dataFolder, 'clock')).join(),
    /error: this clock is 86\d+\.\d s behind the newest event/,
  )
})

test('D8 doctor knows the age of the secret', async t => {
  const dataFolder = await store(t)
  assert.deepEqual(await findings(dataFolder, 'secret'), ['ok: the secret that signs tokens is 0 days old'])
  if (engineIn(t) === 'postgres')
    await runSqlIn(dataFolder, 'UPDATE carrel.secret SET made = made - 800 * 86400000::bigint')
  else {
    const file = join(dataFolder, 'secret')
    const [secret] = readFileSync(file, 'utf8').split(' ')
    writeFileSync(file, `${secret} ${new Date(Date.now() - 800 * 86_400_000).toISOString()}\n`)
  }
  assert.deepEqual(await findings(dataFolder, 'secret'), [
    'warning: the secret that signs tokens is 800 days old',
  ])
})

test('D8 doctor prints no secret, neither on a terminal nor as JSON', async t => {
  const dataFolder = await store(t)
  const given = 'a secret of the operator that is long enough'
  const address = 'postgres://carrel:a-password@127.0.0.1:1/none'
  const runs = [
    await carrel(dataFolder, ['doctor']),
    await examine(dataFolder),
    await examine(dataFolder, { CARREL_TOKEN_SECRET: given }),
    await examine(dataFolder, { CARREL_TOKEN_SECRET: given, CARREL_PORT: 'x' }),
    await examine(dataFolder, { CARREL_TOKEN_SECRET: 'too-short-a-secret' }),
    await examine(dataFolder, { CARREL_DATABASE_URL: address }),
    await examine(dataFolder, { CARREL_DATABASE_URL: address.replace('postgres', 'mysql') }),
  ]
  const own = (await secretsOf(dataFolder)).flatMap(spellingsOf)
  for (const { stdout, stderr } of runs) {
    assert.equal(stderr, '')
    assert.ok(stdout.length > 50)
    for (const one of [...own, given, 'too-short-a-secret', 'a-password', passwordOf('ruth@example.org')])
      assert.ok(!stdout.includes(one), 'a secret was printed')
  }
})

test('D8 doctor creates no store, and says that there is none', async t => {
  const folder = join(temporaryFolder(t, 'sqlite'), 'data')
  if (engineIn(t) === 'postgres') useDatabase(t, folder, createDatabase)
  assert.match(
    (await findings(folder, 'store')).join(),
    /^error: the store in .* can't be read: no store in /,
  )
  assert.equal(existsSync(folder), false)
  const url = await databaseOf(folder)
  if (url !== undefined)
    assert.deepEqual(await runSql(url, "SELECT 1 FROM pg_namespace WHERE nspname = 'carrel'"), [])
})

testOn('sqlite', 'D8 doctor says why the system lets it see no store', async t => {
  const circle = join(temporaryFolder(t), 'circle')
  symlinkSync(circle, circle)
  assert.match((await findings(circle, 'store')).join(), /^error: .*symbolic links go in a circle \(ELOOP\)/)
})

test('D8 doctor names each setting that is wrong, also when the service would not start', async t => {
  const dataFolder = await store(t)
  const wrong = { CARREL_PORT: 'x', CARREL_WORKERS: '0', CARREL_TRUSTED_PROXY: '127.0.0.1' }
  const found = await findings(dataFolder, 'settings', wrong)
  assert.equal(found.length, 3, found.join('\n'))
  for (const key of Object.keys(wrong)) assert.ok(found.some(one => one.startsWith(`error: ${key}`)))

  const file = join(temporaryFolder(t, 'sqlite'), 'carrel.json')
  const startsOf = async (env: Settings) =>
    (await findings(dataFolder, 'settings', env)).map(one => /^error: (\w+)/.exec(one)?.[1])
  writeFileSync(file, '{"CARREL_PORT": "x", "CARREL_WORKERS": 0, "CARREL_HOTS": "::1", "CARREL_REALM": {}}')
  assert.deepEqual((await startsOf({ CARREL_CONFIG: file, CARREL_CACHE_SIZE: 'all' })).toSorted(), [
    'CARREL_CACHE_SIZE',
    'CARREL_HOTS',
    'CARREL_PORT',
    'CARREL_REALM',
    'CARREL_WORKERS',
  ])
})

testOn('sqlite', 'D8 doctor blames no setting for what is wrong with another', async t => {
  const dataFolder = temporaryFolder(t)
  const found = (env: Settings) => findings(dataFolder, 'settings', env)
  const url = 'postgres://carrel@127.0.0.1/carrel'
  const database = await found({ CARREL_DATABASE_URL: 'mysql:', CARREL_DATABASE_REPLICA_URL: url })
  assert.equal(database.length, 1, database.join('\n'))
  assert.match(database.join(), /^error: CARREL_DATABASE_URL: Its value is not valid/)
  // The unreadable file would tell that this variable is a secret of a provider.
  const file = await found({ CARREL_CONFIG: '/nowhere/carrel.json', CARREL_IDP_SECRET: 'x' })
  assert.equal(file.length, 1, file.join('\n'))
  assert.match(file.join(), /^error: CARREL_CONFIG: the file \/nowhere\/carrel\.json/)
  // Combinations of settings are checked once each is valid by itself.
  assert.match((await found({ CARREL_DATABASE_REPLICA_URL: url })).join(), /^error: .* as well/)
})

testOn('sqlite', 'D8 doctor changes nothing, while the service runs and when it was killed', async t => {
  const dataFolder = temporaryFolder(t)
  assert.equal((await carrel(dataFolder, ['group', 'add', 'Readers'])).code, 0)
  const stopped = snapshot(dataFolder)
  await examine(dataFolder)
  assert.deepEqual(snapshot(dataFolder), stopped, 'of a store on which nothing runs')

  const served = await serve(t, dataFolder)
  assert.equal((await carrel(dataFolder, ['group', 'add', 'Writers'])).code, 0)
  const data = () => snapshot(dataFolder).filter(([path]) => !path?.endsWith('-shm'))
  const running = data()
  assert.match((await findings(dataFolder, 'write-ahead log')).join(), /^ok: /)
  assert.deepEqual(data(), running, 'while a service runs')
  assert.equal((await fetch(`${served.address}/health/ready`)).status, 200)

  served.signal('SIGKILL')
  await served.ended
  const killed = data()
  assert.ok(killed.some(([path]) => path?.endsWith('-wal')))
  assert.match((await findings(dataFolder, 'schema')).join(), /^ok: /)
  assert.deepEqual(data(), killed, 'after a crash')
})

testOn(
  'sqlite',
  'D1 D8 doctor prints a line for each finding, and exits with 0 if there are only notes',
  async t => {
    // On disk, because the tests' own folders may be in memory, which causes a warning.
    const folder = mkdtempSync('/var/tmp/carrel-doctor-')
    atEnd(t, () => rmSync(folder, { recursive: true }))
    const dataFolder = join(folder, 'data')
    assert.equal((await carrel(dataFolder, ['eperson', 'add', 'ruth@example.org', '--admin'])).code, 0)
    const settings = {
      CARREL_BASE_URL: 'https://repo.example.edu',
      CARREL_TRUSTED_PROXIES: '127.0.0.1',
      CARREL_ALLOWED_ORIGINS: 'https://ui.example.edu',
      CARREL_SESSION_LIFETIME: '43200',
    }
    const well = await carrel(dataFolder, ['doctor'], { env: settings })
    assert.equal(well.code, 0, well.stdout)
    assert.match(well.stdout, /^ok +https +CARREL_BASE_URL is https:\/\/repo\.example\.edu/m)
    assert.match(well.stdout, /^ok +sessions +a session ends 12 hours after its login/m)
    assert.match(well.stdout, /^note +backup +no backup is known.*\n +→ make sure that there is one/m)
    assert.match(well.stdout, /\n\n2 notes\.\n$/)

    const wrong = await carrel(dataFolder, ['doctor'], {
      env: { ...settings, CARREL_TRUSTED_PROXIES: '::/0' },
    })
    assert.equal(wrong.code, 1)
    assert.match(wrong.stdout, /\n\n2 notes, 1 error\.\n$/)
  },
)

testOn('sqlite', 'D8 doctor names files that other users can read or change', async t => {
  const dataFolder = await store(t)
  const ok = (await findings(dataFolder, 'permissions')).every(one => one.startsWith('ok: '))
  assert.ok(ok)
  for (const [name, mode, expected] of [
    ['secret', 0o640, /^error: .*secret has the mode 0640/],
    ['secret', 0o644, /^error: .*secret has the mode 0644/],
    ['carrel.db', 0o644, /^error: .*carrel\.db has the mode 0644: other users can read accounts/],
    ['.', 0o755, /^warning: .* has the mode 0755/],
    ['.', 0o777, /^error: .* has the mode 0777: every user of this machine can change it/],
    ['entities', 0o755, /^warning: .*entities has the mode 0755/],
  ] as const) {
    const path = join(dataFolder, name)
    chmodSync(path, mode)
    assert.match((await findings(dataFolder, 'permissions')).join(), expected)
    chmodSync(path, name === '.' || name === 'entities' ? 0o700 : 0o600)
  }
  const file = join(temporaryFolder(t), 'carrel.json')
  writeFileSync(file, '{}')
  chmodSync(file, 0o666)
  assert.match(
    (await findings(dataFolder, 'permissions', { CARREL_CONFIG: file })).join(),
    /error: every user of this machine can change the settings/,
  )
  // Only root can give files away.
  if (process.getuid?.() !== 0) return
  chownSync(join(dataFolder, 'carrel.db'), 65_534, 65_534)
  assert.match(
    (await findings(dataFolder, 'permissions')).join(),
    /error: .*secret belongs to user 0, but carrel\.db belongs to user 65534/,
  )
})

testOn('postgres', 'D8 doctor compares the pools of a node with what the server allows', async t => {
  const dataFolder = await store(t)
  const all = await findings(dataFolder, 'database')
  assert.match(all.join('\n'), /ok: PostgreSQL \d+, UTF8/)
  assert.match(all.join('\n'), /ok: a node opens up to 36 connections, .*room for \d+ nodes?$/m)
  assert.ok(
    (await findings(dataFolder, 'clock')).includes("ok: this clock and the database's agree within a second"),
  )
  const large = await findings(dataFolder, 'database', { CARREL_DATABASE_POOL_SIZE: '500' })
  assert.match(large.join('\n'), /error: a node opens up to 2004 connections/)
  const name = new URL((await databaseOf(dataFolder)) ?? '').pathname.slice(1)
  await runSqlIn(dataFolder, `ALTER DATABASE ${name} CONNECTION LIMIT 20`)
  assert.match(
    (await findings(dataFolder, 'database')).join('\n'),
    /error: a node opens up to 36 connections, and the limit of this database is 20/,
  )
})

testOn(
  'postgres',
  'D8 what a database refuses is a finding, and a replica costs no other findings',
  async t => {
    const dataFolder = await store(t)
    const replica = await createDatabase(t)
    await runSql(
      replica,
      `CREATE FUNCTION fail() RETURNS event_trigger LANGUAGE plpgsql
         AS $$ BEGIN RAISE EXCEPTION 'a fault of the replica' USING ERRCODE = 'XX001'; END $$;
       CREATE EVENT TRIGGER at_login ON login EXECUTE FUNCTION fail();
       ALTER EVENT TRIGGER at_login ENABLE ALWAYS`,
    )
    const env = { CARREL_DATABASE_REPLICA_URL: replica }
    assert.match(
      (await findings(dataFolder, 'database', env)).join('\n'),
      /warning: the replica can't be read: PostgreSQL: a fault of the replica \(XX001\)/,
    )
    assert.deepEqual(await findings(dataFolder, 'administrator', env), ['ok: 1 enabled administrator'])
    await runSqlIn(dataFolder, 'ALTER TABLE carrel.eperson RENAME TO gone')
    assert.match((await findings(dataFolder, 'store')).join(), /^error: .* PostgreSQL: .*eperson.* \(42P01\)/)
  },
)

testOn('sqlite', 'D8 doctor checks single sign-on, and how old metadata is', async t => {
  const dataFolder = await store(t)
  const settings = withSingleSignOn(t, {
    providers: [{ id: 'uni', kind: 'saml', metadata: 'uni.xml', attributes: { subject: 'id' } }],
  })
  assert.match(
    (await findings(dataFolder, 'sso uni', settings)).join('\n'),
    /error: the metadata .*uni\.xml: there is no such file/,
  )
  const file = join(settings.CARREL_CONFIG ?? '', '../uni.xml')
  writeFileSync(file, '<nothing/>')
  const then = Date.now() / 1000 - 100 * 86_400
  utimesSync(file, then, then)
  assert.match(
    (await findings(dataFolder, 'sso uni', settings)).join('\n'),
    /note: its metadata was fetched 100 days ago/,
  )
  // The system gives no description of this error, which must not lose the report.
  symlinkSync(file, `${file}.link`)
  rmSync(file)
  symlinkSync(`${file}.link`, file)
  assert.match((await findings(dataFolder, 'sso uni', settings)).join(), /error: .*uni\.xml/)
})
