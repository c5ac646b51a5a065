import assert from 'node:assert/strict'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { secretsOf, spellingsOf } from '../../support/clients/jwt.ts'
import { atEnd } from '../../support/service/at-end.ts'
import { runSql, serverUrl } from '../../support/service/databases.ts'
import { databaseOf, test, testOn, testWithoutStore } from '../../support/service/engines.ts'
import { freePort } from '../../support/service/postgres-server.ts'
import {
  carrel,
  carrelProcess,
  environmentWithNode,
  type Finished,
  run,
} from '../../support/service/process.ts'
import { startService, temporaryFolder } from '../../support/service/service.ts'

const ruth = 'ruth@example.org'

function assertDone({ code, stdout, stderr }: Finished): string {
  assert.equal(code, 0, stdout + stderr)
  // The first command on a folder reports that it creates the store (D6).
  assert.match(stderr, /^(carrel: created a new store in [^\n]+\n)?$/)
  return stdout
}

/** Asserts one line on standard error, and nothing on standard output (D1). */
function assertRefused({ code, stdout, stderr }: Finished, expected: 1 | 2, says: RegExp): void {
  assert.equal(code, expected, stdout + stderr)
  assert.equal(stdout, '')
  assert.match(stderr, /^[^\n]+\n$/, 'one line')
  assert.match(stderr, says)
  assert.doesNotMatch(stderr, /\.ts:\d|node:internal/, 'no stack')
}

/** Runs work for all values, two at a time, because others use the machine, too. */
async function each<T>(list: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const rest = list.values()
  const worker = async () => {
    for (const one of rest) await work(one)
  }
  await Promise.all([worker(), worker()])
}

/** Removes durations, and the progress that is shown after a second. */
const withoutTime = ({ code, stdout, stderr }: Finished): Finished => ({
  code,
  stdout: stdout.replace(/ in \d+\.\d s\.$/m, ''),
  stderr: stderr.replace(/^\w+ \[[=-]+\] \d+ %\n/gm, ''),
})

testOn('sqlite', 'D1 a command in a process of its own says and ends as one beside others does', async t => {
  const { dataFolder } = await withReaders(t)
  const noFolder = join(dataFolder, 'file')
  writeFileSync(noFolder, '')
  const importing = ['import', '-', '--entity', 'piped', '--key', 'id']
  // What an import replaces can be restored, so the second one says more than the first.
  await carrel(dataFolder, importing, { input: '{"id":1}' })
  const cases: readonly (readonly [code: number, args: string[], more?: Parameters<typeof carrel>[2]])[] = [
    [0, ['--help']],
    [0, ['group', 'list', '--json']],
    [0, ['eperson', 'password', ruth, '--password-stdin'], { input: 'from standard input\n' }],
    [0, importing, { input: '{"id":1}' }],
    [1, ['group', 'add', 'Readers']],
    [1, importing, { input: '{"id":1}\n{' }],
    [1, ['eperson', 'list'], { env: { CARREL_DATA: noFolder, CARREL_DATABASE_URL: '' } }],
    [2, ['nonsense']],
    [2, ['group', 'add']],
    [2, ['eperson', 'list'], { env: { CARREL_PORT: 'http' } }],
    [2, []],
  ]
  for (const [code, args, options] of cases) {
    const own = await carrelProcess(dataFolder, args, options)
    assert.equal(own.code, code, own.stderr)
    const beside = await carrel(dataFolder, args, options)
    assert.deepEqual(withoutTime(beside), withoutTime(own))
  }
})

testWithoutStore('D1 in a checkout npm run --silent carrel -- <command> works', async t => {
  const env = environmentWithNode({ CARREL_DATA: temporaryFolder(t) })
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  for (const asked of ['--version', '-V', 'version']) {
    const done = await run('npm', ['run', '--silent', 'carrel', '--', asked], { env })
    assert.equal(assertDone(done), `${version}\n`)
  }
})

const commands = ['serve', 'eperson', 'group', 'import', 'entity'] as const
const subcommands: Readonly<Record<string, readonly string[]>> = {
  eperson: ['add', 'list', 'disable', 'enable', 'delete', 'password'],
  group: ['add', 'join', 'leave', 'list'],
  entity: ['list', 'drop'],
}

testWithoutStore('D1 D2 --help works on every level, lists every command, and is exit code 0', async t => {
  const folder = join(temporaryFolder(t), 'not-made')
  const top = assertDone(await carrel(folder, ['--help']))
  for (const name of commands) assert.match(top, new RegExp(`^  ${name}\\b`, 'm'))
  await each(commands, async name => {
    const help = assertDone(await carrel(folder, [name, '--help']))
    assert.match(help, new RegExp(`^Usage: carrel ${name}\\b`))
    for (const verb of subcommands[name] ?? []) assert.match(help, new RegExp(`^  ${verb}\\b`, 'm'))
  })
  const add = assertDone(await carrel(folder, ['eperson', 'add', '--help']))
  assert.match(add, /^Usage: carrel eperson add\b/)
  for (const option of ['--password-stdin', '--first-name', '--last-name', '--admin'])
    assert.ok(add.includes(option), option)
  assert.equal(statSync(folder, { throwIfNoEntry: false }), undefined, 'help touches no data')
  const env = { CARREL_DATABASE_URL: 'postgres://nobody@nowhere.invalid/none' }
  assert.equal(assertDone(await carrel(folder, ['eperson', 'add', '--help'], { env })), add)
})

testWithoutStore('D1 asking a command group for help is never wrong use', async t => {
  const done = await carrel(temporaryFolder(t), ['eperson', 'help'])
  // If the help lists the command, it must work; otherwise it must be refused.
  const listed = /^ {2}help\b/m.test((await carrel(temporaryFolder(t), ['eperson', '--help'])).stdout)
  if (listed) assert.equal(done.code, 0)
  else assertRefused(done, 2, /help/)
})

const wrongUse: readonly (readonly [args: readonly string[], says: RegExp])[] = [
  [['nonsense'], /nonsense/],
  [['servee'], /servee/],
  [['eperson', 'add'], /email/],
  [['eperson', 'add', 'not-an-address'], /not-an-address/],
  [['eperson', 'add', ruth, '--frob'], /--frob/],
  [['eperson', 'list', 'extra'], /argument/],
  [['group', 'add', ' padded '], /spaces/],
  [['import', 'file.csv', '--key', 'id'], /--entity/],
  [['import', 'file.csv', '--entity', 'x', '--key', 'id', '--read', 'all'], /--read/],
]

for (const [args, says] of wrongUse)
  testWithoutStore(`D1 wrong use is exit code 2 and one line: carrel ${args.join(' ')}`, async t => {
    assertRefused(await carrel(temporaryFolder(t), args), 2, says)
  })

testWithoutStore('D1 no command is exit code 2 and shows the help on standard error', async t => {
  await each([[], ['eperson']], async args => {
    const { code, stdout, stderr } = await carrel(temporaryFolder(t), args)
    assert.equal(code, 2)
    assert.equal(stdout, '')
    assert.match(stderr, /^Usage: carrel/)
  })
})

/** Creates a store with ruth, who has no password, and the group `Readers`. */
async function withReaders(t: TestContext) {
  const service = await startService(t)
  await service.addEperson(ruth, { password: null })
  await service.storage.people.addGroup('Readers', commandEvent('group.add'))
  return service
}

testOn('sqlite', 'D1 what can not be done is exit code 1, and one line that says what to do', async t => {
  const { dataFolder: folder } = await withReaders(t)
  const cases: readonly (readonly [string[], RegExp])[] = [
    [['eperson', 'add', ruth.toUpperCase()], /already.*carrel eperson password/],
    [['eperson', 'disable', 'no@example.org'], /no@example\.org.*carrel eperson list/],
    [['eperson', 'password', 'no@example.org'], /no@example\.org.*carrel eperson list/],
    [['group', 'add', 'Readers'], /already/],
    [['group', 'join', 'Nobodies', ruth], /Nobodies.*carrel group list/],
    [['group', 'join', 'Readers', 'no@example.org'], /no@example\.org.*carrel eperson list/],
    [['entity', 'drop', 'nothing'], /nothing.*carrel entity list/],
  ]
  await each(cases, async ([args, says]) => assertRefused(await carrel(folder, args), 1, says))
})

test('D1 what can not be done is told by every store, as the commands put into words', async t => {
  const { dataFolder: folder, storage } = await withReaders(t)
  const { people, entities } = storage
  const nobody = 'no@example.org'
  const again = { email: ruth.toUpperCase(), firstName: null, lastName: null, passwordHash: null }
  assert.equal(
    await people.addEperson({ ...again, administrator: false }, commandEvent('eperson.add')),
    'exists',
  )
  assert.equal(await people.addGroup('Readers', commandEvent('group.add')), 'exists')
  const missing = await Promise.all([
    people.setEnabled(nobody, false, commandEvent('eperson.disable')),
    people.setPassword({ email: nobody }, 'none', commandEvent('eperson.password')),
    people.deleteEperson(nobody, commandEvent('eperson.delete')),
    people.join('Readers', nobody, commandEvent('group.join')),
  ])
  assert.deepEqual(new Set(missing), new Set(['no-eperson']))
  assert.equal(await people.join('Nobodies', ruth, commandEvent('group.join')), 'no-group')
  assert.equal(await entities.drop('nothing', commandEvent('entity.drop')), false)
  assertRefused(await carrel(folder, ['group', 'join', 'Nobodies', ruth]), 1, /Nobodies.*carrel group list/)
})

/** Functions that break a data folder so that no command can use it. */
const brokenFolders: Readonly<Record<string, (folder: string) => Promise<string> | string>> = {
  'a data folder that is a file': folder => {
    writeFileSync(join(folder, 'file'), '')
    return join(folder, 'file')
  },
  'a store that is no database': folder => {
    writeFileSync(join(folder, 'carrel.db'), 'this is no database, whatever its name says')
    return folder
  },
  'a store of a newer Carrel': folder => {
    const db = new DatabaseSync(join(folder, 'carrel.db'))
    db.exec('PRAGMA user_version = 4711')
    db.close()
    return folder
  },
  'a secret file that is empty': async folder => {
    await carrel(folder, ['group', 'add', 'Readers'])
    writeFileSync(join(folder, 'secret'), '')
    return folder
  },
}

for (const [what, damage] of Object.entries(brokenFolders))
  testOn('sqlite', `D1 ${what} is exit code 1 and one line, without a stack`, async t => {
    const folder = await damage(temporaryFolder(t))
    assertRefused(await carrel(folder, ['eperson', 'list']), 1, /\S/)
  })

/**
 * Functions that break a database, given its address, so that no command can use it. They return the expected
 * message.
 */
const brokenDatabases: Readonly<Record<string, (url: URL, t: TestContext) => Promise<RegExp>>> = {
  'a database that does not exist': async url => {
    url.pathname += '_that_is_not_there'
    return /_that_is_not_there/
  },
  'a server that is not there': async url => {
    url.port = String(await freePort())
    return /ECONNREFUSED/
  },
  'a password that is wrong': async url => {
    url.password = 'verysecret'
    return /password/
  },
  'a host that has no address': async url => {
    url.hostname = 'nowhere.invalid'
    return /nowhere\.invalid|ENOTFOUND|EAI_AGAIN/
  },
  'a database that takes no connections': async url => {
    await runSql(await serverUrl(), `ALTER DATABASE ${url.pathname.slice(1)} ALLOW_CONNECTIONS false`)
    return /not currently accepting connections/
  },
  'a user who may not create anything': async (url, t) => {
    const user = `${url.pathname.slice(1)}_user`
    await runSql(url.href, `DROP SCHEMA carrel CASCADE; CREATE ROLE ${user} LOGIN PASSWORD 'verysecret'`)
    const admin = await serverUrl()
    atEnd(t, () => runSql(admin, `DROP ROLE ${user}`))
    url.username = user
    url.password = 'verysecret'
    return /permission denied/
  },
  'a database of a newer Carrel': async url => {
    await runSql(url.href, 'UPDATE carrel.store_schema SET version = 4711')
    return /4711.*newer Carrel/
  },
}

for (const [what, damage] of Object.entries(brokenDatabases))
  testOn('postgres', `D1 ${what} is exit code 1 and one line, without a stack or a password`, async t => {
    const folder = temporaryFolder(t)
    const url = new URL((await databaseOf(folder)) ?? '')
    // The database is valid before the damage.
    assert.equal((await runSql(url.href, 'SELECT version FROM carrel.store_schema')).length, 1)
    const says = await damage(url, t)
    // This command may create a store (D6).
    const done = await carrel(folder, ['group', 'add', 'Readers'], { env: { CARREL_DATABASE_URL: url.href } })
    assertRefused(done, 1, says)
    assert.ok(!done.stderr.includes(`:${url.password}@`) && !done.stderr.includes('verysecret'), done.stderr)
  })

/** Logs in with passwords of any bytes. */
async function loginStatus(
  t: TestContext,
  dataFolder: string,
  logins: readonly (readonly [string, Uint8Array])[],
) {
  const service = await startService(t, { dataFolder })
  const statuses: number[] = []
  for (const [user, password] of logins) {
    const encoded = [...password].map(byte => `%${byte.toString(16).padStart(2, '0')}`).join('')
    const response = await service.client().post(`/api/authn/login`, `user=${user}&password=${encoded}`, {
      'content-type': 'application/x-www-form-urlencoded',
    })
    statuses.push(response.status)
  }
  return statuses
}

testOn('sqlite', 'D2 eperson add prints a generated password that logs in', async t => {
  const folder = temporaryFolder(t)
  const passwords = new Set<string>()
  for (const email of [ruth, 'carl@example.org']) {
    const stdout = assertDone(await carrel(folder, ['eperson', 'add', email]))
    assert.match(stdout, /^Added eperson \S+ \([0-9a-f-]{36}\)\.\nPassword: [A-Za-z0-9]{16,}\n$/)
    passwords.add(stdout.trim().split(' ').at(-1) ?? '')
  }
  assert.equal(passwords.size, 2)
  const [first = '', second = ''] = passwords
  assert.deepEqual(
    await loginStatus(t, folder, [
      [ruth, Buffer.from(first)],
      ['carl@example.org', Buffer.from(second)],
      [ruth, Buffer.from(second)],
    ]),
    [200, 200, 401],
  )
})

testOn(
  'sqlite',
  'D2 a password from standard input is taken byte by byte, without the one line end behind it',
  async t => {
    const folder = temporaryFolder(t)
    const invalidUtf8 = Buffer.from([0x20, 0xff, 0xfe, 0x00, 0xc3, 0x28, 0x0d, 0x41, 0x20])
    const cases: readonly (readonly [input: Uint8Array | string, password: Uint8Array | string])[] = [
      ['with newline\n', 'with newline'],
      ['with CRLF\r\n', 'with CRLF'],
      ['in\nside, two newlines\n\n', 'in\nside, two newlines\n'],
      ['pässwörd ☃ 🦉\n', 'pässwörd ☃ 🦉'],
      [Buffer.concat([invalidUtf8, Buffer.from('\n')]), invalidUtf8],
    ]
    await each([...cases.entries()], async ([at, [input]]) => {
      const args = ['eperson', 'add', `p${at}@example.org`, '--password-stdin']
      const stdout = assertDone(await carrel(folder, args, { input }))
      assert.doesNotMatch(stdout, /Password/)
      if (typeof input === 'string') assert.ok(!stdout.includes(input.trim()))
    })
    const right = cases.map(([, password], at) => [`p${at}@example.org`, Buffer.from(password)] as const)
    assert.deepEqual(
      await loginStatus(t, folder, right),
      cases.map(() => 200),
    )
  },
)

testOn('sqlite', 'D2 an empty password from standard input is wrong use, and nothing is added', async t => {
  const { dataFolder: folder } = await withReaders(t)
  await each(['', '\r\n'], async input => {
    const args = ['eperson', 'add', 'carl@example.org', '--password-stdin']
    assertRefused(await carrel(folder, args, { input }), 2, /standard input is empty/)
  })
  const listed = JSON.parse(assertDone(await carrel(folder, ['eperson', 'list', '--json'])))
  assert.deepEqual(
    (listed as { email: string }[]).map(({ email }) => email),
    [ruth],
  )
})

testOn('sqlite', 'L10 commands refuse weak passwords, say why, and change nothing', async t => {
  const { dataFolder: folder } = await withReaders(t)
  for (const [input, why] of [
    ['1234567', /must have at least 8 characters/],
    ['x'.repeat(4_097), /must have at most 4,096 characters/],
    ['Password1', /is one of the most common ones/],
    ['someone.else@example.org', /must not be the email address/],
    ['Someone.Else', /must not be the email address, or the part of it before the @/],
  ] as const)
    for (const args of [
      ['eperson', 'add', 'someone.else@example.org', '--password-stdin'],
      ['eperson', 'password', 'someone.else@example.org', '--password-stdin'],
    ]) {
      const refused = await carrel(folder, args, { input })
      assertRefused(refused, 2, why)
      if (!args.includes(input)) assert.ok(!refused.stderr.includes(input))
    }
  const listed = JSON.parse(assertDone(await carrel(folder, ['eperson', 'list', '--json'])))
  assert.deepEqual(
    (listed as { email: string }[]).map(({ email }) => email),
    [ruth],
  )
})

test('D2 epersons are added, listed, disabled, enabled, given passwords and deleted', async t => {
  const folder = temporaryFolder(t)
  const input = 'first password'
  assertDone(
    await carrel(
      folder,
      [
        'eperson',
        'add',
        ruth,
        '--password-stdin',
        '--first-name',
        'Ruth',
        '--last-name',
        'Reader-Łoś',
        '--admin',
      ],
      { input },
    ),
  )
  const list = async () =>
    JSON.parse(assertDone(await carrel(folder, ['eperson', 'list', '--json']))) as {
      email: string
      firstName: string
      lastName: string
      enabled: boolean
      groups: string[]
    }[]
  const [first] = await list()
  assert.equal(first?.email, ruth)
  assert.equal(first.firstName, 'Ruth')
  assert.equal(first.lastName, 'Reader-Łoś')
  assert.equal(first.enabled, true)
  assert.deepEqual(first.groups, ['Administrator'])
  const table = assertDone(await carrel(folder, ['eperson', 'list']))
  assert.match(table, /ruth@example\.org +Ruth Reader-Łoś +yes +Administrator/)

  const service = await startService(t, { dataFolder: folder })
  const status = async (password: string) => (await service.client().tryLogin(ruth, password)).status
  assert.equal(await status(input), 200)
  assertDone(await carrel(folder, ['eperson', 'disable', 'RUTH@example.org']))
  assert.equal((await list())[0]?.enabled, false)
  assert.equal(await status(input), 401)
  assertDone(await carrel(folder, ['eperson', 'enable', ruth]))
  assert.equal(await status(input), 200)
  assertDone(
    await carrel(folder, ['eperson', 'password', ruth, '--password-stdin'], { input: 'the second one\n' }),
  )
  assert.equal(await status(input), 401)
  assert.equal(await status('the second one'), 200)
  const generated = assertDone(await carrel(folder, ['eperson', 'password', ruth]))
  assert.equal(await status(/Password: (\S+)/.exec(generated)?.[1] ?? ''), 200)
  assertDone(await carrel(folder, ['eperson', 'delete', ruth]))
  assert.deepEqual(await list(), [])
  assert.equal(await status('the second one'), 401)
})

test('D2 groups are added and listed, epersons join and leave them', async t => {
  const { dataFolder: folder, addEperson } = await startService(t)
  await addEperson(ruth, { password: null })
  assertDone(await carrel(folder, ['group', 'add', 'Lesesaal & Söhne']))
  const members = async () => {
    const groups = JSON.parse(assertDone(await carrel(folder, ['group', 'list', '--json']))) as {
      name: string
      uuid: string
      members: number
    }[]
    for (const { uuid } of groups) assert.match(uuid, /^[0-9a-f-]{36}$/)
    return Object.fromEntries(groups.map(group => [group.name, group.members]))
  }
  assert.deepEqual(await members(), { Administrator: 0, 'Lesesaal & Söhne': 0 })
  assertDone(await carrel(folder, ['group', 'join', 'Lesesaal & Söhne', ruth]))
  assert.match(assertDone(await carrel(folder, ['group', 'list'])), /Lesesaal & Söhne +1/)
  assertDone(await carrel(folder, ['group', 'leave', 'Lesesaal & Söhne', ruth]))
  assert.deepEqual(await members(), { Administrator: 0, 'Lesesaal & Söhne': 0 })
})

test('D2 an entity is listed and dropped', async t => {
  const { dataFolder: folder, addRecords } = await startService(t)
  await addRecords('letters', 'id', [
    { id: 1, title: 'a' },
    { id: 2, title: null },
  ])
  const list = async () =>
    JSON.parse(assertDone(await carrel(folder, ['entity', 'list', '--json']))) as {
      name: string
      key: string
      read: string
      records: number | null
    }[]
  const listed = await list()
  const letters = listed.find(entity => entity.name === 'letters')
  assert.equal(letters?.key, 'id')
  assert.equal(letters.read, 'anonymous')
  assert.equal(letters.records, 2)
  for (const name of ['epersons', 'groups', 'audit-events'])
    assert.ok(
      listed.some(entity => entity.name === name),
      name,
    )
  assert.match(assertDone(await carrel(folder, ['entity', 'list'])), /^letters +id +anonymous/m)
  assertDone(await carrel(folder, ['entity', 'drop', 'letters']))
  assert.ok(!(await list()).some(entity => entity.name === 'letters'))
})

testWithoutStore(
  'D3 a wrong setting stops every command with exit code 2, the key and what it takes',
  async t => {
    const folder = temporaryFolder(t)
    assertRefused(
      await carrel(folder, ['eperson', 'list'], { env: { CARREL_PORT: 'http' } }),
      2,
      /CARREL_PORT.*a port number/,
    )
    assertRefused(
      await carrel(folder, ['eperson', 'list'], { env: { CARREL_PROT: '80' } }),
      2,
      /CARREL_PROT.*CARREL_PORT/,
    )
  },
)

function configFile(t: TestContext, content: unknown): string {
  const file = join(temporaryFolder(t), 'carrel.json')
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

testWithoutStore('D3 a file that is no JSON does not bring a secret to light', async t => {
  const secret = 'kR7vQ2mX9pL4wZ8tB6nY1cF5hJ3gD0sA'
  for (const text of [
    `{"CARREL_TOKEN_SECRET": '${secret}'}`,
    `{"CARREL_TOKEN_SECRET": ${secret}}`,
    `{"CARREL_TOKEN_SECRET": "${secret}" "CARREL_PORT": 1}`,
  ]) {
    const env = { CARREL_CONFIG: configFile(t, text) }
    const done = await carrel(temporaryFolder(t), ['eperson', 'list'], { env })
    assertRefused(done, 2, /CARREL_CONFIG/)
    for (let at = 0; at + 6 <= secret.length; at++)
      assert.ok(!done.stderr.includes(secret.slice(at, at + 6)), done.stderr)
  }
})

test('D2 secret rotate keeps tokens valid and never shows the secret', async t => {
  const dataFolder = temporaryFolder(t)
  const before = await startService(t, { dataFolder })
  await before.addEperson(ruth)
  const token = await before.client().login(ruth)
  const stdout = assertDone(await carrel(dataFolder, ['secret', 'rotate']))
  const secrets = await secretsOf(dataFolder)
  assert.equal(secrets.length, 2)
  for (const spelling of secrets.flatMap(spellingsOf)) assert.ok(!stdout.includes(spelling))
  const after = await startService(t, { dataFolder })
  assert.equal(await after.client().isLoggedIn(token), true)
  const env = { CARREL_TOKEN_SECRET: 'verysecret-verysecret-verysecret-1' }
  const refused = await carrel(dataFolder, ['secret', 'rotate'], { env })
  assertRefused(refused, 1, /CARREL_TOKEN_SECRET/)
  assert.ok(!refused.stderr.includes('verysecret'))
})
