import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { withPort } from '../../../src/cli/listen.ts'
import { toConfig } from '../../../src/config/config.ts'
import { providersIn } from '../../../src/config/providers.ts'
import { secretKeys, settings } from '../../../src/config/settings.ts'
import { temporaryFolder } from '../../support/service/service.ts'

function configFile(t: TestContext, content: unknown): string {
  const file = join(temporaryFolder(t), 'carrel.json')
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
  return file
}

for (const [wrong, right] of [
  ['CARREL_PROT', 'CARREL_PORT'],
  ['CARREL_DATABASE_ULR', 'CARREL_DATABASE_URL'],
  ['CARREL_TRUSTED_PROXY', 'CARREL_TRUSTED_PROXIES'],
  ['CARREL_port', 'CARREL_PORT'],
] as const)
  test(`D3 ${wrong} stops the start, in the environment and in the file, and ${right} is suggested`, t => {
    const says = (place: string) => ({
      message: `${wrong}${place} is not a setting; did you mean ${right}?`,
    })
    assert.throws(() => toConfig({ [wrong]: '1' }), says(''))
    const file = configFile(t, { [wrong]: '1' })
    assert.throws(() => toConfig({ CARREL_CONFIG: file }), says(` (in ${file})`))
  })

test('D3 what is like no setting is refused with all of them, and keys of blocks are suggested, too', t => {
  assert.throws(() => toConfig({ CARREL_ZZZ: '1' }), /CARREL_ZZZ is not a setting; known are CARREL_DATA, /)
  for (const [content, says] of [
    [{ specialGroup: {} }, /specialGroup .*did you mean specialGroups\?/],
    [{ PORT: 1 }, /PORT .*did you mean CARREL_PORT\?/],
    [{ specialGroups: { methods: [] } }, /"methods" is unknown; did you mean method\?/],
    [{ singleSignOn: { providers: [{}], method: [] } }, /method is unknown; did you mean methods\?/],
  ] as const)
    assert.throws(() => toConfig({ CARREL_CONFIG: configFile(t, content) }), says)
})

test('D3 F4 CARREL_FILES_SENT_BY takes carrel, x-sendfile, or a location, and the last two need a trusted proxy', () => {
  const read = (CARREL_FILES_SENT_BY: string, CARREL_TRUSTED_PROXIES = '127.0.0.1') =>
    toConfig({ CARREL_FILES_SENT_BY, CARREL_TRUSTED_PROXIES }).filesSentBy
  assert.deepEqual(toConfig({}).filesSentBy, { kind: 'carrel' })
  assert.deepEqual(read('carrel', ''), { kind: 'carrel' })
  assert.deepEqual(read('x-sendfile'), { kind: 'x-sendfile' })
  for (const location of ['/carrel-files/', '/a/b.c/_~/'])
    assert.deepEqual(read(`x-accel-redirect:${location}`), { kind: 'x-accel-redirect', location })
  for (const wrong of ['', ':', ':files', ':/files', ':files/', ':/', ':/a//', ':/../', ':/a b/', ':/a?b/'])
    assert.throws(() => read(`x-accel-redirect${wrong}`), /^Error: CARREL_FILES_SENT_BY: .* it takes carrel/)
  for (const value of ['x-sendfile', 'x-accel-redirect:/carrel-files/'])
    assert.throws(() => read(value, ''), {
      message: 'CARREL_FILES_SENT_BY: set CARREL_TRUSTED_PROXIES to the address of the proxy as well',
    })
})

test('D3 each secret can be in a file, and a message names the file and never what is in it', t => {
  const folder = temporaryFolder(t)
  const fileOf = (content: string | Uint8Array) => {
    const file = join(folder, randomUUID())
    writeFileSync(file, content)
    return file
  }
  const secret = 'x'.repeat(40)
  const read = (value: string) => toConfig({ CARREL_METRICS_SECRET_FILE: value }).metricsSecret
  for (const end of ['', '\n', '\r\n']) assert.equal(read(fileOf(`${secret}${end}`)), secret)
  assert.equal(read(fileOf(`\uFEFF${secret}`)), secret)
  const CARREL_CONFIG = configFile(t, { CARREL_METRICS_SECRET_FILE: fileOf(secret) })
  assert.equal(toConfig({ CARREL_CONFIG }).metricsSecret, secret)
  assert.equal(
    toConfig({ CARREL_CONFIG, CARREL_METRICS_SECRET: 'y'.repeat(40) }).metricsSecret,
    'y'.repeat(40),
  )

  const both = { CARREL_METRICS_SECRET: secret, CARREL_METRICS_SECRET_FILE: fileOf(secret) }
  assert.throws(() => toConfig(both), {
    message: 'CARREL_METRICS_SECRET and CARREL_METRICS_SECRET_FILE are both set; set one of them',
  })
  for (const [file, says] of [
    [join(folder, 'none'), /can't be read \(ENOENT\)/],
    [folder, /can't be read \(EISDIR\)/],
    [fileOf('\n'), /is empty/],
    [fileOf(secret.repeat(2_000)), /is larger than 64 kB/],
    ['/dev/zero', /is larger than 64 kB/],
    [fileOf(Buffer.alloc(40, 0xff)), /isn't UTF-8 text/],
    [fileOf(`${secret}\0`), /has a control character; it takes one line of text/],
    [fileOf(`${secret}\n${secret}`), /has several lines; it takes one line of text/],
  ] as const)
    assert.throws(
      () => read(file),
      (error: Error) =>
        error.message.startsWith(`CARREL_METRICS_SECRET_FILE: the file ${file}`) && says.test(error.message),
    )
  assert.throws(
    () => read(fileOf('too-short-to-be-a-secret')),
    ({ message }: Error) =>
      /^CARREL_METRICS_SECRET: Its value/.test(message) && !message.includes('too-short'),
  )
  assert.throws(() => toConfig({ CARREL_PORT_FILE: fileOf('80') }), /CARREL_PORT_FILE is not a setting/)
  // What is a secret is a property of the setting, so a new one gets a file by itself.
  for (const key of secretKeys)
    assert.throws(
      () => toConfig({ [`${key}_FILE`]: '/none' }),
      new RegExp(`^Error: ${key}_FILE: the file /none can't be read`),
    )
  assert.ok(secretKeys.has('CARREL_TOKEN_SECRET') && secretKeys.has('CARREL_DATABASE_URL'))
})

test('D3 a pipe into which nothing is written stops the start, and is named', t => {
  const pipe = join(temporaryFolder(t), 'pipe')
  execFileSync('mkfifo', [pipe])
  assert.throws(() => toConfig({ CARREL_METRICS_SECRET_FILE: pipe }), {
    message: `CARREL_METRICS_SECRET_FILE: the file ${pipe} is a pipe into which nothing was written within 1 s`,
  })
})

test('D3 the path of a secret is relative to the file that names it, else to the working directory', t => {
  const folder = temporaryFolder(t)
  const CARREL_CONFIG = join(folder, 'carrel.json')
  const clientSecret = { file: 'secret' }
  const provider = {
    id: 'a',
    kind: 'oidc',
    issuer: 'https://id.example.org',
    clientId: 'carrel',
    clientSecret,
  }
  const secret = 'x'.repeat(40)
  writeFileSync(join(folder, 'secret'), secret)
  writeFileSync(
    CARREL_CONFIG,
    JSON.stringify({ CARREL_METRICS_SECRET_FILE: 'secret', singleSignOn: { providers: [provider] } }),
  )
  const config = toConfig({ CARREL_CONFIG })
  const [read] = providersIn(config.singleSignOn)
  assert.deepEqual(
    [config.metricsSecret, read && 'clientSecret' in read && read.clientSecret],
    [secret, secret],
  )
  const CARREL_METRICS_SECRET_FILE = relative('.', join(folder, 'secret'))
  assert.equal(toConfig({ CARREL_METRICS_SECRET_FILE }).metricsSecret, secret)
  assert.throws(() => toConfig({ CARREL_METRICS_SECRET_FILE: 'secret' }), /the file secret can't be read/)
})

test('D3 a port that was found is in every link, as if it had been set', t => {
  const provider = { id: 'a', kind: 'oidc', issuer: 'https://id.example.org', clientId: 'carrel' }
  const CARREL_CONFIG = configFile(t, { singleSignOn: { providers: [provider] } })
  const env = { CARREL_CONFIG, CARREL_SMTP_URL: 'smtp://mail.example.org', CARREL_MAIL_FROM: 'a@example.org' }
  const of = (port: string) => toConfig({ ...env, CARREL_PORT: port })
  assert.deepEqual(withPort(of('0'), 4711), of('4711'))
  const other = { ...env, CARREL_BASE_URL: 'https://repo.example.org', CARREL_PORT: '0' }
  assert.deepEqual(withPort(toConfig(other), 4711), toConfig({ ...other, CARREL_PORT: '4711' }))
})

test('D3 variables that are not ours stop no start: of tests, of service links, and secrets of the file', t => {
  const provider = { id: 'a', kind: 'oidc', issuer: 'https://id.example.org', clientId: 'carrel' }
  const CARREL_CONFIG = configFile(t, {
    singleSignOn: { providers: [{ ...provider, clientSecret: { env: 'CARREL_OIDC_SECRET' } }] },
  })
  toConfig({
    CARREL_CONFIG,
    CARREL_OIDC_SECRET: 'secret-of-the-client',
    CARREL_TEST_ANYTHING: '1',
    // Variables that Kubernetes sets for services called carrel and carrel-db.
    CARREL_PORT: 'tcp://10.0.0.1:80',
    CARREL_SERVICE_HOST: '10.0.0.1',
    CARREL_SERVICE_PORT: '80',
    CARREL_SERVICE_PORT_HTTP: '80',
    CARREL_PORT_80_TCP: 'tcp://10.0.0.1:80',
    CARREL_PORT_80_TCP_PROTO: 'tcp',
    CARREL_PORT_80_TCP_PORT: '80',
    CARREL_PORT_80_TCP_ADDR: '10.0.0.1',
    CARREL_DB_PORT: 'tcp://10.0.0.2:5432',
  })
  assert.equal(toConfig({ CARREL_PORT: 'tcp://10.0.0.1:80' }).port, 8080)
  const file = configFile(t, { CARREL_PORT: 81 })
  assert.equal(toConfig({ CARREL_CONFIG: file, CARREL_PORT: 'tcp://10.0.0.1:80' }).port, 81)
})

/** Texts that are neither a folder nor a bucket: none may become a folder called `s3:`. */
const noPlaces = [
  ...[
    's3://',
    's3://Bucket',
    's3://bucket/a//b',
    's3:/bucket',
    's3:bucket',
    's3:',
    'S3://bucket',
    'S3:/bucket',
  ],
  ...['s3a://bucket', 's3+http://bucket', ' s3:/bucket', 's3:\\bucket', 's3:///bucket', ' '],
  ...['gs://bucket', 'file:/srv/files', 'file:///srv/files', 'https://example.edu/bucket', 'HTTP:/a'],
]
const wrongValues: readonly (readonly [keyof typeof settings, readonly string[]])[] = [
  ['CARREL_DATABASE_URL', ['mysql://user:verysecret@db/carrel', 'verysecret@db:5432/carrel', 'postgres']],
  ['CARREL_DATABASE_REPLICA_URL', ['https://user:verysecret@db/carrel', 'verysecret']],
  ['CARREL_DATABASE_POOL_SIZE', ['0', '1001', 'many', '1.5']],
  ['CARREL_DATABASE_QUEUE', ['-1', '100001', 'none']],
  ['CARREL_LISTINGS', ['0', '10001', 'many']],
  ['CARREL_LISTING_PATIENCE', ['0', '3601', 'long']],
  ['CARREL_LISTING_TIME_LIMIT', ['0', '86401', 'long']],
  ['CARREL_STATEMENT_TIMEOUT', ['0', '86401', 'long', '-1']],
  ['CARREL_PORT', ['-1', '65536', '80.5', 'eighty', ' 80']],
  [
    'CARREL_BASE_URL',
    ['repo.example.edu', 'ftp://repo.example.edu', 'https://r.example/?x=1', 'https://r.example/#x'],
  ],
  ['CARREL_QUERY_BASE', ['/pdb/query/v3', 'pdb/query/v4', '/pdb/query/v4/', '/a b/v4']],
  ['CARREL_TOKEN_LIFETIME', ['0', '-5', 'long', '1e3', 'Infinity']],
  ['CARREL_ACCESS_TOKEN_LIFETIME', ['-1', '59', '1.5', 'long', '315360001']],
  ['CARREL_SESSION_LIFETIME', ['0', '-1', 'long', '3153600001']],
  ['CARREL_LEASE_LIFETIME', ['0', '86401', '1.5', 'long']],
  ['CARREL_SHORT_TOKEN_LIFETIME', ['1.8', '2.1', '0', 'short']],
  ['CARREL_TOKEN_SECRET', ['verysecret', 'verysecret-verysecret-verysecret-1,verysecret']],
  ['CARREL_METRICS_SECRET', ['verysecret', 'verysecret verysecret verysecret verysecret']],
  ['CARREL_CONSOLE', ['yes', '0', 'off']],
  ['CARREL_WARM', ['yes', '1', 'TRUE']],
  ['CARREL_LOGIN_ON_BEHALF_OF', ['yes', '1', 'TRUE']],
  ['CARREL_SECOND_FACTOR', ['true', 'admin']],
  ['CARREL_SECOND_FACTOR_LOGINS', ['ldap', 'none']],
  ['CARREL_ON_BEHALF_OF_REASON', ['true', 'always']],
  ['CARREL_LOGOUT_PAGE_URL', ['/bye', 'javascript:alert(1)']],
  ['CARREL_ALLOWED_ORIGINS', ['*', 'https://ui.example.edu/', 'ui.example.edu', 'https://a.example,null']],
  ['CARREL_FILES_SENT_BY', ['nginx', 'x-accel-redirect', 'x-accel-redirect:/files', 'X-Sendfile']],
  ['CARREL_TRUSTED_PROXIES', ['proxy.example', '10.0.0.0/33', '300.1.1.1', '10.0.0.1/8/8']],
  ['CARREL_ALLOWED_HOSTS', ['*', 'https://ui.example.edu', 'ui.example.edu:8080', 'a..b']],
  ['CARREL_EVENTS_RETENTION', ['0', '36501', 'never']],
  ['CARREL_EVENTS_SIZE', ['0', '10000001', 'all']],
  ['CARREL_KEPT_VERSIONS', ['-1', '3651', 'week']],
  ['CARREL_KEPT_VERSIONS_SIZE', ['0', '10000001', 'all']],
  ['CARREL_SNAPSHOT_TIME', ['-1', '1441', 'hour']],
  ['CARREL_SNAPSHOT_SIZE', ['0', '10000001', 'all']],
  ['CARREL_HIDDEN_METADATA', ['*', 'dc', 'dc.description.*', 'none,dc.title']],
  ['CARREL_REALM', ['Söhne', 'two\nlines']],
  ['CARREL_CSRF_COOKIE', ['a b', 'a=b', 'a;b']],
  ['CARREL_CSRF_HEADER', ['a b', 'a:b']],
  ['CARREL_NAME', [' ', 'two\nlines', 'x'.repeat(61)]],
  ['CARREL_COLOR', ['green', '#fff', '#12345g', 'rgb(0, 0, 0)']],
  ['CARREL_WORKERS', ['0', '65', 'all', '1.5']],
  ['CARREL_PASSWORD_CONCURRENCY', ['0', '65', 'all']],
  ['CARREL_DRAIN_DELAY', ['-1', '0.5', '3601', 'none']],
  ['CARREL_STOP_GRACE', ['-1', '0.5', '86401', 'none']],
  ['CARREL_REQUEST_TIMEOUT', ['0', '3601', '1.5', 'none']],
  ['CARREL_PASSWORD_QUEUE', ['-1', '100001', '1.5']],
  ['CARREL_CACHE_SIZE', ['0', 'all', '100001']],
  ['CARREL_END_USER_AGREEMENT', ['yes', '1']],
  [
    'CARREL_SMTP_URL',
    ['mail.example.edu', 'http://carrel:verysecret@mail', 'smtp://carrel:verysecret@mail?x=1'],
  ],
  ['CARREL_SMTP_TLS', ['no', 'true']],
  ['CARREL_MAIL_FROM', ['nobody', 'a@b <c', 'Archive <nobody>', 'a@example.edu, b@example.edu']],
  ['CARREL_UI_URL', ['ui.example.edu', 'ftp://ui.example.edu']],
  ['CARREL_REGISTRATION', ['yes', '1']],
  ['CARREL_REGISTRATION_DOMAINS', ['*', 'example', 'ruth@example.edu']],
  ['CARREL_FILES', noPlaces],
  ['CARREL_BACKUPS', noPlaces],
  ['CARREL_DATA', [' ', 's3://bucket', 'S3:/bucket', 'file:///srv/carrel']],
  ['CARREL_FILES_ENDPOINT', ['s3.example.edu', 'http://key:secret@s3.example.edu']],
  ['CARREL_FILES_REGION', ['eu central', 'a/b']],
  ['CARREL_FILES_PATH_STYLE', ['yes']],
  ['CARREL_FILES_QUOTA', ['0', '1.5', 'all']],
  ['CARREL_IMPORT_SIZE', ['0', '1.5', 'all']],
  ['CARREL_UPLOAD_SIZE', ['0', '1.5', '10000001']],
  ['CARREL_UPLOAD_QUOTA', ['0', '1.5', '10000001']],
  ['CARREL_UPLOAD_COUNT', ['0', '1.5', '10001']],
  ['CARREL_UPLOAD_FREE', ['-1', '1.5', '10000001']],
  ['CARREL_UPLOAD_LIFETIME', ['0', '1.5', '8761']],
  ['CARREL_LOG_LEVEL', ['debug', 'INFO']],
]

test('D3 every setting refuses what it does not take, by its name, and never shows a secret', () => {
  const anything = ['CARREL_HOST', 'CARREL_CONFIG', 'CARREL_LOGO']
  assert.deepEqual(
    [...wrongValues.map(([key]) => key), ...anything].toSorted(),
    Object.keys(settings).toSorted(),
    'every setting is in the table',
  )
  for (const [key, values] of wrongValues)
    for (const value of values)
      assert.throws(
        () => toConfig({ [key]: value }),
        (error: Error) =>
          error.message.startsWith(key) &&
          error.message.includes(settings[key].takes) &&
          !error.message.includes('verysecret'),
        `${key}=${value}`,
      )
})

test('D3 what an address of a database says and Carrel does not support is named', () => {
  const address = 'postgres://user:verysecret@db1,db2/carrel'
  for (const [parameters, said] of [
    [
      'target_session_attrs=prefer-standby',
      /target_session_attrs takes any, read-write, read-only, primary, standby$/,
    ],
    ['hostaddr=127.0.0.1', /hostaddr is not supported/],
    ['load_balance_hosts=random', /load_balance_hosts is not supported/],
    ['port=1,2,3', /2 hosts and 3 ports/],
  ] as const)
    for (const key of ['CARREL_DATABASE_URL', 'CARREL_DATABASE_REPLICA_URL'] as const)
      assert.throws(
        () => toConfig({ CARREL_DATABASE_URL: address, [key]: `${address}?${parameters}` }),
        (error: Error) =>
          error.message.startsWith(`${key}: `) &&
          said.test(error.message) &&
          !/verysecret/.test(error.message),
      )
})

test('D3 a replica needs the database that it is one of', () => {
  const CARREL_DATABASE_REPLICA_URL = 'postgres://user:verysecret@replica/carrel'
  assert.throws(
    () => toConfig({ CARREL_DATABASE_REPLICA_URL }),
    (error: Error) =>
      /^CARREL_DATABASE_REPLICA_URL: .*CARREL_DATABASE_URL/.test(error.message) &&
      !error.message.includes('verysecret'),
  )
})

test('D3 every setting has a default that works', () => {
  const config = toConfig({})
  assert.deepEqual(config.database, { kind: 'embedded' })
  assert.equal(config.host, '127.0.0.1')
  assert.equal(config.port, 8080)
  assert.equal(config.baseUrl, 'http://localhost:8080')
  assert.equal(config.queryBase, '/api/query/v4')
  assert.equal(config.tokenLifetime, 1800)
  assert.equal(config.shortTokenLifetime, 2)
  assert.equal(config.loginOnBehalfOf, false)
  assert.equal(config.logoutPageUrl, null)
  assert.match(config.dataFolder, /\/data$/)
  assert.equal(toConfig({ CARREL_PORT: '81' }).baseUrl, 'http://localhost:81')
})

test('D3 the file takes the same keys, and the environment decides where both are set', t => {
  const CARREL_CONFIG = configFile(t, {
    CARREL_PORT: 81,
    CARREL_LOGIN_ON_BEHALF_OF: true,
    CARREL_ALLOWED_ORIGINS: ['https://a.example', 'https://b.example'],
    CARREL_REALM: 'From the file',
  })
  const config = toConfig({ CARREL_CONFIG, CARREL_REALM: 'From outside' })
  assert.equal(config.port, 81)
  assert.equal(config.loginOnBehalfOf, true)
  assert.deepEqual(config.allowedOrigins, ['https://a.example', 'https://b.example'])
  assert.equal(config.realm, 'From outside')
})

for (const [what, content, says] of [
  ['is not there', null, /CARREL_CONFIG/],
  ['is no JSON', '{', /CARREL_CONFIG/],
  ['is no object', '[]', /CARREL_CONFIG.*object/],
  ['has an unknown key', { CARREL_PROT: 1 }, /CARREL_PROT.*CARREL_PORT/],
  ['has a wrong value', { CARREL_PORT: 'x' }, /CARREL_PORT.*a port number/],
  ['has a value of a wrong type', { CARREL_PORT: { a: 1 } }, /CARREL_PORT/],
  ['has special groups of a wrong form', { specialGroups: [] }, /specialGroups.*it takes/],
  ['has an unknown kind of special groups', { specialGroups: { dns: [] } }, /specialGroups.*dns/],
  [
    'has a special group without a name',
    { specialGroups: { ip: [{ ranges: ['::1'] }] } },
    /specialGroups.*ip\[0\]/,
  ],
  [
    'has a wrong network',
    { specialGroups: { ip: [{ group: 'Campus', ranges: ['10.0.0.0/40'] }] } },
    /specialGroups.*10\.0\.0\.0\/40/,
  ],
  [
    'has a wrong method',
    { specialGroups: { method: [{ group: 'Local', method: 'magic' }] } },
    /specialGroups.*method\[0\]/,
  ],
  [
    'makes administrators',
    { specialGroups: { ip: [{ group: 'Administrator', ranges: ['::/0'] }] } },
    /specialGroups.*Administrator/,
  ],
] as const)
  test(`D3 a file that ${what} stops the start by the name of the key`, t => {
    const file = content === null ? '/nowhere/carrel.json' : configFile(t, content)
    assert.throws(
      () => toConfig({ CARREL_CONFIG: file }),
      (error: Error) => says.test(error.message) && !error.message.includes('\n'),
    )
  })
