import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { bearerOf } from '../support/clients/client.ts'
import { loginsTo } from '../support/providers/ldap-flow.ts'
import { atEnd } from '../support/service/at-end.ts'
import { freePort } from '../support/service/postgres-server.ts'
import { carrel, cleanEnvironment, repository, run } from '../support/service/process.ts'
import { passwordOf, type Service, startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

/**
 * The guide to LDAP, followed with OpenLDAP from Debian's packages slapd and ldap-utils. Only ports and
 * folders are the test's own.
 */
const guide = readFileSync(join(repository, 'docs/how-to/ldap.md'), 'utf8')
const blocks = [...guide.matchAll(/```(\w*)\n([\s\S]*?)```/g)].map(([, language, text = '']) => ({
  language,
  text,
}))

function blockWith(text: string): string {
  const found = blocks.find(block => block.text.includes(text))
  assert.ok(found, text)
  return found.text
}

const [failed, unavailable] = ['401 login-failed', '503 directory-unavailable']
const admin = ['-x', '-D', 'cn=admin,dc=example,dc=edu', '-w', 'admin-secret']

interface Slapd {
  readonly folder: string
  readonly ports: { readonly ldap: number; readonly ldaps: number }
  /** Replaces the guide's ports by those of this directory. */
  own(text: string): string
  /** Adds or changes entries. */
  change(ldif: string, program?: string): Promise<void>
  stop(): Promise<void>
}

async function startSlapd(t: TestContext): Promise<Slapd> {
  const folder = temporaryFolder(t)
  const ports = { ldap: await freePort(), ldaps: await freePort() }
  const own = (text: string) =>
    text.replaceAll('3389', String(ports.ldap)).replaceAll('3636', String(ports.ldaps))
  const sh = async (line: string) => {
    const { code, stdout, stderr } = await run('sh', ['-ec', own(line)], { cwd: folder })
    assert.equal(code, 0, `${line}\n${stdout}${stderr}`)
    return stdout
  }
  for (const line of blockWith('openssl req').trim().split('\n')) await sh(line)
  writeFileSync(join(folder, 'slapd.conf'), blockWith('TLSCertificateFile'))
  writeFileSync(join(folder, 'people.ldif'), blockWith('dn: uid=ruth'))
  const [start = '', fill = '', ask = ''] = blockWith('slapd -d 0').trim().split('\n')
  const child = spawn('sh', ['-ec', `exec ${own(start).replace(/ &$/, '')}`], {
    cwd: folder,
    stdio: 'ignore',
    env: { ...cleanEnvironment(), PATH: `${process.env.PATH}:/usr/sbin` },
  })
  const exited = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGKILL')
    await exited
  }
  atEnd(t, stop)
  await until(
    'an answer of slapd',
    () => run('ldapwhoami', ['-H', `ldap://localhost:${ports.ldap}`, '-x']),
    ({ code }) => code === 0,
  )
  await sh(fill)
  const shown = await sh(ask)
  for (const line of ['mail: ruth@example.edu', 'memberOf: cn=staff,ou=groups,dc=example,dc=edu'])
    assert.ok(shown.includes(line), shown)
  return {
    folder,
    ports,
    own,
    stop,
    change: async (ldif, program = 'ldapadd') => {
      const { code, stderr } = await run(program, ['-H', `ldap://localhost:${ports.ldap}`, ...admin], {
        input: ldif,
      })
      assert.equal(code, 0, stderr)
    },
  }
}

/** Returns the guide's settings, with the provider of another block, or with a changed one. */
function settingsOf({ folder, own }: Slapd, provider: Readonly<Record<string, unknown>> = {}) {
  const file = JSON.parse(own(blockWith('"singleSignOn"'))) as {
    singleSignOn: { providers: Record<string, unknown>[] }
  }
  Object.assign(file.singleSignOn.providers[0] ?? {}, provider)
  const path = join(folder, `${Math.random()}.json`)
  writeFileSync(path, JSON.stringify(file))
  return { CARREL_CONFIG: path, LDAP_PASSWORD: 'search-secret' }
}

async function groupsOf(service: Service, user: string, password = 'correct horse') {
  const client = service.client()
  client.token = bearerOf(await client.tryLogin(user, password))
  return client.specialGroups()
}

test('LD1 LD4 LD6 the settings of the guide work, and so do its commands', async t => {
  const slapd = await startSlapd(t)
  const env = settingsOf(slapd)
  const service = await startService(t, { env })
  const checked = await carrel(service.dataFolder, ['sso', 'check'], { env })
  assert.equal(checked.code, 0, checked.stdout + checked.stderr)
  for (const what of [/localhost:\d+ \(TLS\): a search works/, /localhost:\d+ \(StartTLS\): a search works/])
    assert.match(checked.stdout, what)
  const attributes = join(slapd.folder, 'ruth.json')
  writeFileSync(attributes, blockWith('"entryUUID": "6f1c…"'))
  const explained = await carrel(service.dataFolder, ['sso', 'explain', '--attributes', attributes], { env })
  assert.match(explained.stdout, /Special groups {2}Staff/)

  assert.deepEqual(await groupsOf(service, 'ruth'), ['Staff'])
  assert.deepEqual(await groupsOf(service, 'RUTH@example.edu'), ['Staff'])
  const listed = await carrel(service.dataFolder, ['sso', 'identities', '--json'], { env })
  assert.match(listed.stdout, /"subject": ?"[\da-f]{8}-[\da-f-]{27}"/)
  assert.match((await carrel(service.dataFolder, ['eperson', 'list'], { env })).stdout, /ruth@example\.edu/)

  const logIn = loginsTo(service)
  for (const [user, password] of [
    ['ruth', 'wrong'],
    ['ruth', ''],
    ['nobody', 'correct horse'],
    ['*', 'correct horse'],
    ['ruth)(uid=*', 'correct horse'],
    ['carrel', 'search-secret'],
  ] as const)
    assert.equal(await logIn(user, password), failed, user)
  await slapd.change(
    'dn: uid=ruth,ou=people,dc=example,dc=edu\nchangetype: modify\nreplace: userPassword\nuserPassword: new\n',
    'ldapmodify',
  )
  assert.deepEqual([await logIn('ruth', 'correct horse'), await logIn('ruth', 'new')], [failed, '200'])
})

test('LD2 LD4 the other settings of the guide work: a template, and groups that list members', async t => {
  const slapd = await startSlapd(t)
  const without = { search: undefined, servers: undefined, groups: undefined }
  const blockAsProvider = (text: string) => ({ ...without, ...JSON.parse(slapd.own(blockWith(text))) })
  const byName = await startService(t, { env: settingsOf(slapd, blockAsProvider('"dn": "uid={user}')) })
  assert.deepEqual(await groupsOf(byName, 'ruth'), [])
  const env = settingsOf(slapd, blockAsProvider('"groupSearch": {"base": "ou=groups'))
  const byMembers = await startService(t, { env })
  assert.deepEqual(await groupsOf(byMembers, 'ruth'), ['Curators'])
})

test('LD2 names with any characters find their entries and no others', async t => {
  const slapd = await startSlapd(t)
  const names = ['o)(*', 'a,b', 'a\\b', 'a+b=c', '#x', '"q"', 'é', '<x>;y', 'a b']
  const inDn = (name: string) => name.replaceAll(/[,+"\\<>;=#]/g, '\\$&')
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  for (const [at, name] of names.entries())
    await slapd.change(
      `dn:: ${base64(`uid=${inDn(name)},ou=people,dc=example,dc=edu`)}\nobjectClass: inetOrgPerson\nuid:: ${base64(name)}\ncn: x\nsn: x\nmail: p${at}@example.edu\nuserPassword: pw${at}\n`,
    )
  for (const provider of [{}, { search: undefined, dn: 'uid={user},ou=people,dc=example,dc=edu' }]) {
    const logIn = loginsTo(await startService(t, { env: settingsOf(slapd, provider) }))
    for (const [at, name] of names.entries()) {
      assert.equal(await logIn(name, `pw${at}`), '200', name)
      assert.equal(await logIn(name, `pw${at + 1}`), failed, name)
    }
  }
})

test('LD3 certificates are checked, and the next server is asked', async t => {
  const slapd = await startSlapd(t)
  const { ldap, ldaps } = slapd.ports
  const other = await startSlapd(t)
  const cases = [
    [{ ca: undefined }, unavailable],
    [{ ca: join(other.folder, 'ca.pem') }, unavailable],
    [{ servers: [`ldaps://127.0.0.1:${ldaps}`] }, unavailable],
    [{ servers: [`ldap://127.0.0.1:${ldap}`] }, unavailable],
    [{ servers: [`ldap://localhost:${ldap}`] }, '200'],
    [{ servers: [`ldap://127.0.0.1:${ldap}`], startTls: false }, '200'],
    [{ servers: ['ldaps://localhost:1', `ldaps://localhost:${ldaps}`] }, '200'],
    // Plain LDAP where TLS is expected, and the other way round.
    [{ servers: [`ldaps://localhost:${ldap}`, `ldap://localhost:${ldaps}`], timeout: 1 }, unavailable],
  ] as const
  for (const [provider, expected] of cases) {
    const service = await startService(t, { env: settingsOf(slapd, provider) })
    assert.equal(await loginsTo(service)('ruth', 'correct horse'), expected, JSON.stringify(provider))
    await service.stop()
  }
  const service = await startService(t, { env: settingsOf(slapd) })
  await service.addEperson('max@example.org')
  const logIn = loginsTo(service)
  assert.equal(await logIn('ruth', 'correct horse'), '200')
  await slapd.stop()
  assert.equal(await logIn('ruth', 'correct horse'), unavailable)
  assert.equal(await logIn('max@example.org', passwordOf('max@example.org')), '200')
})

test('LD3 LD4 referrals are not followed, and one address of two people opens nothing', async t => {
  const slapd = await startSlapd(t)
  await slapd.change(
    [
      'dn: ou=elsewhere,ou=people,dc=example,dc=edu\nobjectClass: referral\nobjectClass: extensibleObject\nou: elsewhere\nref: ldap://localhost:1/ou=elsewhere,dc=example,dc=edu\n',
      'dn: uid=twin,ou=people,dc=example,dc=edu\nobjectClass: inetOrgPerson\nuid: twin\ncn: x\nsn: x\nmail: ruth@example.edu\nuserPassword: correct horse\n',
    ].join('\n'),
  )
  const logIn = loginsTo(await startService(t, { env: settingsOf(slapd) }))
  assert.equal(await logIn('ruth@example.edu', 'correct horse'), failed)
  assert.equal(await logIn('ruth', 'correct horse'), '200')
  assert.equal(await logIn('twin', 'correct horse'), failed, 'the address is someone else’s')
  const search = {
    base: 'ou=elsewhere,ou=people,dc=example,dc=edu',
    bindDn: 'cn=carrel,dc=example,dc=edu',
    bindPassword: { env: 'LDAP_PASSWORD' },
  }
  const referred = await startService(t, { env: settingsOf(slapd, { search }) })
  assert.equal(await loginsTo(referred)('ruth', 'correct horse'), unavailable)
})
