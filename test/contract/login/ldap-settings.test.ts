import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { toConfig } from '../../../src/config/config.ts'
import { startDirectory } from '../../support/providers/ldap-directory.ts'
import {
  account,
  addressOf,
  entries,
  groups,
  loginsTo,
  people,
  ruth,
  search,
  withDirectory,
} from '../../support/providers/ldap-flow.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { carrel } from '../../support/service/process.ts'
import { startService, temporaryFolder } from '../../support/service/service.ts'

type Block = Readonly<Record<string, unknown>>

const configOf = (
  t: TestContext,
  provider: Block,
  singleSignOn: Block = {},
  servers = ['ldaps://ldap.example.edu'],
) => toConfig(withDirectory(t, servers, { provider: { startTls: true, ...provider }, singleSignOn }))

testOn('sqlite', 'LD3 D3 a wrong setting of a directory stops the start and says what is right', t => {
  const empty = join(temporaryFolder(t), 'empty.pem')
  writeFileSync(empty, '')
  const cases: readonly (readonly [Block, RegExp])[] = [
    [{ servers: [] }, /providers\[0\]\.servers: must have 1 to 10 elements, not 0/],
    [{ servers: ['https://ldap.example.edu'] }, /servers\[0\]: must match pattern/],
    [{ servers: ['ldap://user:secret@ldap.example.edu'] }, /servers\[0\]: must match pattern/],
    [
      { servers: ['ldap://ldap.example.edu'], startTls: false },
      /servers\[0\]: would get passwords unencrypted/,
    ],
    [{ servers: ['ldaps://'] }, /servers\[0\]/],
    [{ dn: 'uid={user},dc=example' }, /needs either dn or search/],
    [{ search: undefined }, /needs either dn or search/],
    [{ search: undefined, dn: '{user}' }, /dn: must contain \{user\} once, as a whole value/],
    [{ search: undefined, dn: 'uid=x{user},dc=example' }, /dn: must contain/],
    [{ search: undefined, dn: 'uid={user},cn={user}' }, /dn: must contain/],
    [{ search: { ...search, filter: '(uid=user)' } }, /search\.filter: must contain \{user\}/],
    [{ search: { ...search, bindPassword: undefined } }, /bindPassword/],
    [
      { search: { ...search, bindPassword: { env: 'NOT_SET' } } },
      /the environment variable NOT_SET is not set/,
    ],
    [{ groupSearch: { base: groups, filter: '(member=x)' } }, /groupSearch\.filter: must contain \{dn\}/],
    [{ ca: 'not-there.pem' }, /ca: can't be read \(ENOENT\)/],
    [{ ca: empty }, /ca: has no certificate/],
    [{ timeout: 0 }, /timeout: must be 0.1 to 60/],
    [{ scheme: 'password' }, /scheme/],
    [{ groups: [{ group: 'Administrator', attribute: 'cn', value: 'x' }] }, /may not be Administrator/],
  ]
  for (const [provider, message] of cases) {
    assert.throws(() => configOf(t, provider), message, JSON.stringify(provider))
    assert.throws(
      () => configOf(t, provider),
      (error: Error) => !error.message.includes('secret'),
    )
  }
  const ldap = (id: string) => ({ id, kind: 'ldap', servers: ['ldaps://x.example.edu'], dn: 'uid={user}' })
  assert.throws(() => configOf(t, {}, { providers: [ldap('a'), ldap('b')] }), /only one may be of kind ldap/)
  const other = { id: 'o', kind: 'oidc', issuer: 'https://x.example.edu', clientId: 'c', scheme: 'ldap' }
  assert.throws(() => configOf(t, {}, { providers: [other] }), /reserved name/)

  const { singleSignOn, loginMethods } = configOf(t, {}, {}, [
    'ldap://[::1]',
    'ldaps://ldap.example.edu:1636',
  ])
  assert.deepEqual(singleSignOn?.directory?.servers, [
    { host: '::1', port: 389, security: 'start-tls' },
    { host: 'ldap.example.edu', port: 1636, security: 'tls' },
  ])
  assert.deepEqual([singleSignOn?.providers, loginMethods], [[], ['password', 'ldap']])
  const allowed = configOf(t, {
    servers: ['ldap://ldap.example.edu'],
    startTls: false,
    allowUnencrypted: true,
  })
  assert.equal(allowed.singleSignOn?.directory?.servers[0]?.security, 'none')
})

testOn('sqlite', 'LD2 D3 a filter that is none stops the start', async t => {
  const provider = { search: { ...search, filter: '(uid={user}' } }
  const env = withDirectory(t, ['ldap://127.0.0.1:1'], { provider })
  await assert.rejects(startService(t, { env }), /search\.filter of the directory is not a filter/)
})

testOn('sqlite', 'LD6 D8 sso check and doctor ask each server, with the account that searches', async t => {
  const [good, stopped] = [await startDirectory(t, entries), await startDirectory(t, entries)]
  await stopped.stop()
  const folder = temporaryFolder(t)
  const servers = [addressOf(good), addressOf(stopped)]
  const checked = async (provider: Block = {}, command: readonly string[] = ['sso', 'check']) => {
    const env = { ...withDirectory(t, servers, { provider }) }
    return carrel(folder, [...command, '--json'], { env })
  }
  const { code, stdout } = await checked()
  assert.equal(code, 1)
  assert.match(
    stdout,
    new RegExp(`"ok".*127\\.0\\.0\\.1:${good.port} \\(unencrypted\\): a search works`, 's'),
  )
  assert.match(stdout, new RegExp(`"error".*127\\.0\\.0\\.1:${stopped.port} .*ECONNREFUSED`, 's'))
  assert.doesNotMatch(stdout, /CARREL_ALLOWED_ORIGINS/, 'no browser is sent anywhere')
  assert.ok(!stdout.includes(account.password))
  assert.match((await checked({}, ['doctor'])).stdout, /a search works.*ECONNREFUSED/s)
  assert.ok(good.asked.every(({ kind, dn }) => kind !== 'bind' || dn === account.dn))

  good.entries = entries.filter(({ dn }) => dn !== account.dn)
  assert.match((await checked()).stdout, /it refused the account of search\.bindDn \(result 49\)/)
  good.entries = [...entries]
  const everybody = { search: { ...search, filter: '(|(uid={user})(objectClass=*))' } }
  assert.match((await checked(everybody)).stdout, /the search finds a person by a name that is not theirs/)
  const open = { search: { base: people }, email: { match: true }, attributes: { subject: 'DN' } }
  const warned = (await checked(open)).stdout
  for (const what of [/searches anonymously/, /email\.match/, /attributes\.subject is the DN/])
    assert.match(warned, what)
})

test('LD4 LD6 sso explain, identities and unlink know the directory', async t => {
  const directory = await startDirectory(t, entries)
  const rules = [{ group: 'Staff', attribute: 'memberOf', value: `cn=staff,${groups}` }]
  const env = withDirectory(t, [addressOf(directory)], {
    provider: { groups: rules, email: { match: true } },
  })
  const service = await startService(t, { env })
  const attributes = join(temporaryFolder(t, 'sqlite'), 'ruth.json')
  const sent = { entryUUID: 'uuid of ruth', mail: ruth.email, memberOf: [`cn=staff,${groups}`] }
  writeFileSync(attributes, JSON.stringify(sent))
  const explain = async () =>
    (await carrel(service.dataFolder, ['sso', 'explain', '--attributes', attributes], { env })).stdout
  assert.match(await explain(), /logs in as a new eperson ruth@example\.edu[\s\S]*Staff/)
  await service.addEperson(ruth.email)
  assert.match(await explain(), /has a password of their own/)
  const logIn = loginsTo(service)
  assert.deepEqual([await logIn(), await logIn('max')], ['401 login-failed', '200'])
  const identities = async () => (await carrel(service.dataFolder, ['sso', 'identities'], { env })).stdout
  assert.match(await identities(), /max@example\.edu +uni +uuid of max/)
  const unlinked = await carrel(service.dataFolder, ['sso', 'unlink', 'max@example.edu', 'uni'], { env })
  assert.equal(unlinked.code, 0, unlinked.stderr)
  assert.doesNotMatch(await identities(), /max@/)
})
