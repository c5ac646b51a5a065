import assert from 'node:assert/strict'
import { test } from 'node:test'
import { administration } from '../../../console/src/i18n/terms.ts'
import { findingsOf } from '../../../src/cli/doctor/examine.ts'
import { type Facts, isTrouble } from '../../../src/cli/doctor/finding.ts'
import type { Entry, FolderFacts } from '../../../src/cli/doctor/folder-facts.ts'
import { toConfig } from '../../../src/config/config.ts'
import type { ReplicaFacts, ServerFacts, StoreFacts } from '../../../src/storage/statements/inspect.ts'

const now = Date.parse('2026-06-01T12:00:00Z')
const day = 86_400_000

const settings = {
  CARREL_BASE_URL: 'https://repo.example.edu/server',
  CARREL_ALLOWED_ORIGINS: 'https://ui.example.edu',
  CARREL_TRUSTED_PROXIES: '127.0.0.1',
  CARREL_WORKERS: '4',
  CARREL_PASSWORD_CONCURRENCY: '2',
  CARREL_SESSION_LIFETIME: '43200',
}

const server: ServerFacts = {
  version: 180_000,
  encoding: 'UTF8',
  clockAhead: 20,
  connectionLimits: [{ of: 'server', max: 97, used: 10 }],
  unsafeSettings: [],
  standbysBehind: 0,
  isEncrypted: false,
  replica: null,
}

const store: StoreFacts = {
  migrationsMissing: 0,
  administrators: 1,
  newestEvent: now - 1_000,
  newestBackup: now - day,
  repeatedEvents: 0,
  heldVersions: 0,
  tokensWithoutFactor: [],
  secretMade: now - 30 * day,
  hasFiles: true,
  server: null,
}

const folder: FolderFacts = {
  role: 'data',
  path: '/var/lib/carrel',
  fileSystem: 0xef53,
  size: 100 * 1024 ** 3,
  free: 50 * 1024 ** 3,
  inodes: 1_000_000,
  freeInodes: 900_000,
  entries: [],
}

const files: FolderFacts = { ...folder, role: 'files', path: '/var/lib/carrel/files' }

type Change = Partial<Omit<Facts, 'config'>> & { readonly env?: Readonly<Record<string, string | undefined>> }

const findingsWith = ({ env = {}, ...facts }: Change) =>
  findingsOf({
    config: toConfig({ ...settings, ...env }),
    machine: { processors: 4, memory: 8 * 1024 ** 3 },
    now,
    configFile: null,
    folders: [folder, files],
    store,
    ...facts,
  })

/** Returns all findings except those that are ok, as `level about: what`. */
const troubleWith = (change: Change) =>
  findingsWith(change)
    .filter(({ level }) => level !== 'ok')
    .map(({ level, about, what }) => `${level} ${about}: ${what}`)

const holder = (name: string, isAdministrator: boolean) => ({ email: `${name}@example.edu`, isAdministrator })

const onPostgres = { CARREL_DATABASE_URL: 'postgres://carrel@127.0.0.1/carrel' }
const withServer = (change: Partial<ServerFacts>, env: Readonly<Record<string, string>> = {}): Change => ({
  env: { ...onPostgres, ...env },
  store: { ...store, server: { ...server, ...change } },
})
const withReplica = (replica: ReplicaFacts) => withServer({ replica })
const withEntry = (entry: Pick<Entry, 'name'> & Partial<Entry>): Change => ({
  folders: [
    {
      ...folder,
      entries: [
        // The folder is the root of a volume.
        { path: '/var/lib/carrel', name: '.', mode: 0o700, owner: 0, size: 0 },
        { path: '/var/lib/carrel/carrel.db', name: 'carrel.db', mode: 0o600, owner: 998, size: 0 },
        { path: `/var/lib/carrel/${entry.name}`, mode: 0o600, owner: 998, size: 0, ...entry },
      ],
    },
    files,
  ],
})

test('D8 a configuration as in the guide has no trouble, on either engine', () => {
  assert.deepEqual(troubleWith({}), [])
  assert.deepEqual(troubleWith(withServer({})), [])
  assert.deepEqual(troubleWith(withEntry({ name: 'carrel.db-wal', size: 4 * 1024 ** 2 })), [])
})

test('D8 behind a proxy, doctor says which path it must pass on, and how to see whether it does', () => {
  const saying = (CARREL_BASE_URL: string) =>
    findingsWith({ env: { CARREL_BASE_URL } }).filter(({ what }) => what.includes('must pass the path'))
  const [found, ...more] = saying('https://repo.example.edu/repo')
  assert.deepEqual([found?.level, more], ['ok', []])
  assert.match(
    found?.what ?? '',
    /path \/repo .*curl -si https:\/\/repo\.example\.edu\/repo\/api\/security\/csrf.*Path=\/repo\/api$/,
  )
  assert.deepEqual(saying('https://repo.example.edu'), [])
})

const rows: readonly (readonly [what: string, change: Change, expected: RegExp])[] = [
  [
    'a base URL behind a proxy that is not trusted',
    { env: { CARREL_TRUSTED_PROXIES: '' } },
    /^warning proxy: .*CARREL_TRUSTED_PROXIES is empty/,
  ],
  [
    'http on another port than the one that is listened on',
    {
      env: {
        CARREL_BASE_URL: 'http://localhost:8088',
        CARREL_TRUSTED_PROXIES: '',
        CARREL_ALLOWED_ORIGINS: '',
      },
    },
    /warning proxy: .*there is a proxy in front/,
  ],
  [
    'everyone trusted',
    { env: { CARREL_TRUSTED_PROXIES: '127.0.0.1,0.0.0.0/0' } },
    /^error proxy: .*0\.0\.0\.0\/0/,
  ],
  ['everyone trusted by IPv6', { env: { CARREL_TRUSTED_PROXIES: '::/0' } }, /^error proxy: .*::\/0/],
  [
    'half of everyone trusted',
    { env: { CARREL_TRUSTED_PROXIES: '128.0.0.0/1' } },
    /^warning proxy: .*any client/,
  ],
  [
    'a port that clients can reach',
    { env: { CARREL_HOST: '0.0.0.0' } },
    /^note proxy: Carrel listens on 0\.0\.0\.0/,
  ],
  [
    'a public service over http',
    { env: { CARREL_BASE_URL: 'http://repo.example.edu', CARREL_ALLOWED_ORIGINS: 'http://ui.example.edu' } },
    /^warning https: .*can be read on the network$/,
  ],
  [
    'an https page that calls http',
    { env: { CARREL_BASE_URL: 'http://repo.example.edu' } },
    /error browsers: .*browsers block http on an https page/,
  ],
  [
    'a page of another site over http',
    { env: { CARREL_BASE_URL: 'http://repo.example.edu', CARREL_ALLOWED_ORIGINS: 'http://ui.example.org' } },
    /error browsers: .*SameSite=Lax/,
  ],
  [
    'a page of another site over https',
    { env: { CARREL_ALLOWED_ORIGINS: 'https://ui.example.org' } },
    /^note browsers: .*third-party cookies/,
  ],
  [
    'a page over http that calls https',
    { env: { CARREL_ALLOWED_ORIGINS: 'http://ui.example.edu' } },
    /^warning browsers: http:\/\/ui\.example\.edu .* is http/,
  ],
  [
    'an origin of development',
    { env: { CARREL_ALLOWED_ORIGINS: 'http://localhost:4000' } },
    /^note browsers: .*http:\/\/localhost:4000/,
  ],
  ['NFS', { folders: [{ ...folder, fileSystem: 0x6969 }] }, /^error file system: .*on a network \(NFS\)/],
  [
    'CIFS, whose number is signed where it comes from',
    { folders: [{ ...folder, fileSystem: 0xff534d42 | 0 }] },
    /^error file system: .*\(CIFS\)/,
  ],
  ['FUSE', { folders: [{ ...folder, fileSystem: 0x65735546 }] }, /^note file system: .*FUSE/],
  ['memory', { folders: [{ ...folder, fileSystem: 0x01021994 }] }, /^warning file system: .*in memory/],
  ['a full disk', { folders: [{ ...folder, free: 50 * 1024 ** 2 }] }, /^error space: 50 MiB of/],
  ['little room', { folders: [{ ...folder, free: 500 * 1024 ** 2 }] }, /^warning space: 500 MiB of/],
  [
    'few inodes',
    { folders: [{ ...folder, freeInodes: 10_000 }] },
    /^warning space: only 10,000 of 1,000,000 inodes/,
  ],
  [
    'a large log',
    withEntry({ name: 'carrel.db-wal', size: 100 * 1024 ** 2 }),
    /^warning write-ahead log: .*100 MiB/,
  ],
  ['a secret that others can read', withEntry({ name: 'secret', mode: 0o604 }), /^error permissions: .*0604/],
  [
    'an owner that differs',
    withEntry({ name: 'carrel.db-wal', owner: 0 }),
    /^error permissions: \/var\/lib\/carrel\/carrel\.db-wal belongs to user 0, but carrel\.db belongs to user 998/,
  ],
  ['a newer schema', { store: { ...store, migrationsMissing: -1 } }, /^error schema: a newer Carrel/],
  ['an older schema', { store: { ...store, migrationsMissing: 2 } }, /^note schema: an older Carrel/],
  [
    'sessions without end',
    { env: { CARREL_SESSION_LIFETIME: undefined } },
    /^note sessions: CARREL_SESSION_LIFETIME is not set/,
  ],
  ['an old backup', { store: { ...store, newestBackup: now - 8 * day } }, /^warning backup: .*8 days ago/],
  [
    'events that repeat which are nearly too large',
    { store: { ...store, repeatedEvents: 1_900 * 1024 ** 2 } },
    /^warning audit trail: events that repeat take 1,900 of 2,048 MB; above that, the oldest of them are removed/,
  ],
  [
    'versions that are held which are nearly too large',
    { store: { ...store, heldVersions: 4_000 * 1024 ** 2 } },
    /^warning snapshots: .* 4,000 of 4,096 MB; above that, snapshots expire before CARREL_SNAPSHOT_TIME/,
  ],
  ['no backup', { store: { ...store, newestBackup: null } }, /^note backup: no backup is known/],
  [
    'an event of tomorrow',
    { store: { ...store, newestEvent: now + day } },
    /^error clock: .*86400\.0 s behind/,
  ],
  ['a secret of last year', { store: { ...store, secretMade: now - 400 * day } }, /^note secret: .*400 days/],
  [
    'a secret in the environment',
    { env: { CARREL_TOKEN_SECRET: 'x'.repeat(40) } },
    /^note secret: CARREL_TOKEN_SECRET sets the secret/,
  ],
  [
    'a database whose clock is ahead',
    withServer({ clockAhead: 5_000 }),
    /^warning clock: this clock is 5\.0 s behind/,
  ],
  [
    'a database whose clock is behind',
    withServer({ clockAhead: -5_000 }),
    /^warning clock: .*5\.0 s ahead of/,
  ],
  ['an old PostgreSQL', withServer({ version: 130_012 }), /^error database: PostgreSQL 13, UTF8 is too old/],
  [
    'a PostgreSQL without text search',
    withServer({ version: 160_004 }),
    /^warning database: PostgreSQL 16, UTF8 can't search for words in tables/,
  ],
  ['another encoding', withServer({ encoding: 'LATIN1' }), /^error database: PostgreSQL 18, LATIN1/],
  [
    'a standby for which no commit waits',
    withServer({ standbysBehind: 1 }),
    /^warning database: no commit waits for 1 standby: .*revoked/,
  ],
  [
    'access tokens of administrators without the factor that they need',
    {
      env: { CARREL_SECOND_FACTOR: 'administrators' },
      store: { ...store, tokensWithoutFactor: [holder('admin', true), holder('reader', false)] },
    },
    /^note access tokens: .*no second factor is enrolled: admin@example\.edu$/,
  ],
  [
    'access tokens of anybody without the factor that everybody needs',
    {
      env: { CARREL_SECOND_FACTOR: 'everybody' },
      store: { ...store, tokensWithoutFactor: Array.from({ length: 7 }, (_, n) => holder(`e${n}`, false)) },
    },
    /^note access tokens: .*e3@example\.edu, e4@example\.edu and 2 more$/,
  ],
  ['no fsync', withServer({ unsafeSettings: ['fsync = off'] }), /^error database: .*fsync = off/],
  [
    'a database across the network in plain text',
    withServer({}, { CARREL_DATABASE_URL: 'postgres://carrel@db.example.edu/carrel' }),
    /^warning database: .*not encrypted/,
  ],
  [
    'no room for a node',
    withServer({ connectionLimits: [{ of: 'server', max: 20, used: 1 }] }),
    /^error database: a node opens up to 38 connections/,
  ],
  [
    'a server that is nearly full',
    withServer({ connectionLimits: [{ of: 'server', max: 97, used: 95 }] }),
    /^warning database: 95 of 97 connections of the server/,
  ],
  [
    'a replica that is down',
    withReplica({ kind: 'unreachable', reason: 'PostgreSQL does not answer' }),
    /^warning database: the replica can't be read/,
  ],
  [
    'a replica that is none',
    withReplica({ kind: 'no-replica', reason: 'it takes writes' }),
    /^error database: the replica can't be used: it takes writes/,
  ],
  [
    'a replica that is far behind',
    withReplica({ kind: 'replica', bytesBehind: 20 * 1024 ** 2, secondsBehind: 5 }),
    /^warning database: the replica is 20,971,520 bytes behind, its newest change 5 s old/,
  ],
  [
    'a replica that has stood still',
    withReplica({ kind: 'replica', bytesBehind: 10, secondsBehind: 100 }),
    /^warning database: the replica is 10 bytes behind/,
  ],
  [
    'a replica that is just behind',
    withReplica({ kind: 'replica', bytesBehind: 10, secondsBehind: 1 }),
    /^note database: the replica is 10 bytes behind/,
  ],
  [
    'more hashes than processors',
    { env: { CARREL_PASSWORD_CONCURRENCY: '16' } },
    /^warning load: CARREL_PASSWORD_CONCURRENCY is 16, on a machine with 4 processors/,
  ],
  [
    'a long queue of logins',
    { env: { CARREL_PASSWORD_QUEUE: '100000' } },
    /^warning load: .*waits for about 2500 s/,
  ],
  ['more workers than processors', { env: { CARREL_WORKERS: '8' } }, /^note load: CARREL_WORKERS is 8/],
  ['a folder of files that is gone', { folders: [folder] }, /^warning files: .*\/files is not there.*fail$/],
  [
    'a folder of files that is not there yet',
    { folders: [folder], store: { ...store, hasFiles: false } },
    /^note files: /,
  ],
  ['a cache of all memory', { env: { CARREL_CACHE_SIZE: '8000' } }, /^warning load: CARREL_CACHE_SIZE/],
]

for (const [what, change, expected] of rows)
  test(`D8 doctor finds ${what}`, () => {
    const trouble = troubleWith(change)
    assert.match(trouble.join('\n'), new RegExp(expected.source, 'm'))
    for (const { about } of findingsWith(change)) assert.ok(Object.hasOwn(administration.check, about), about)
    const without = findingsWith(change).filter(one => isTrouble(one) && one.advice === null)
    assert.deepEqual(without, [], 'it says what to do')
  })

test('D8 a database on a socket of this machine needs no encryption', () => {
  for (const url of ['postgres:///carrel?host=/run/postgresql', 'postgres://%2Frun%2Fpostgresql/carrel'])
    assert.deepEqual(troubleWith(withServer({}, { CARREL_DATABASE_URL: url })), [])
})

test('D8 doctor checks only what there is: no store, and no folder but the one of files', () => {
  const trouble = troubleWith({ store: null, folders: [] })
  assert.equal(trouble.length, 1)
  assert.match(trouble.join(), /^note files: /)
})

test('D8 each limit of connections is compared with the connections that it limits', () => {
  const limits = [
    { of: 'server', max: 500, used: 96 },
    { of: 'role', max: 100, used: 10 },
  ] as const
  const about = (change: Partial<ServerFacts>) =>
    findingsWith(withServer(change))
      .filter(one => one.about === 'database')
      .map(({ what }) => what)
      .join('\n')
  const found = about({ connectionLimits: limits })
  assert.match(found, /38 connections, and the limit of this role is 100: room for 2 nodes/)
  assert.doesNotMatch(found, /in use/)
  assert.match(about({ connectionLimits: [{ of: 'server', max: 40, used: 9 }] }), /room for 1 node$/m)
})

for (const [seconds, said] of [
  ['1000', '16.7 minutes'],
  ['1', '1 second'],
  ['3600', '60 minutes'],
  ['1209600', '14 days'],
] as const)
  test(`D8 doctor says in words how long ${seconds} seconds are`, () => {
    const found = findingsWith({ env: { CARREL_SESSION_LIFETIME: seconds } })
    assert.ok(found.some(({ what }) => what === `a session ends ${said} after its login`))
  })

test('D8 doctor counts one day as one', () => {
  const at = now - 1.5 * day
  const found = findingsWith({ store: { ...store, newestBackup: at, secretMade: at } }).map(
    ({ what }) => what,
  )
  for (const said of ['the last backup was made 1 day ago', 'the secret that signs tokens is 1 day old'])
    assert.ok(found.includes(said), said)
})

test('D8 a file system of several machines may hold the files, but not the store', () => {
  assert.deepEqual(troubleWith({ folders: [folder, { ...files, fileSystem: 0x6969 }] }), [])
})
