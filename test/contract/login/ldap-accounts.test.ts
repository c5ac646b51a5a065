import assert from 'node:assert/strict'
import { commandEvent } from '../../../src/cli/store.ts'
import { withoutRequestId } from '../../support/clients/answers.ts'
import { bearerOf } from '../../support/clients/client.ts'
import { claimsOf } from '../../support/clients/jwt.ts'
import { type Campus, entries, people, person, ruth, startCampus } from '../../support/providers/ldap-flow.ts'
import { test } from '../../support/service/engines.ts'
import { passwordOf } from '../../support/service/service.ts'

const failed = '401 login-failed'

const epersonOf = async ({ service }: Campus, user: string, password = ruth.password) =>
  claimsOf(bearerOf(await service.client().tryLogin(user, password))).eid

test('LD4 an eperson without a password is linked by their address only where that is allowed, and is then known by the subject', async t => {
  const strict = await startCampus(t)
  await strict.service.addEperson(ruth.email, { password: null })
  assert.equal(await strict.logIn(), failed)

  const campus = await startCampus(t, { provider: { email: { match: true }, create: false } })
  const { uuid } = await campus.service.addEperson(ruth.email, { password: null })
  assert.equal(await campus.logIn('max'), failed, 'nobody is created')
  assert.equal(await epersonOf(campus, ruth.user), uuid)
  // Renamed and with another address, it is still the same person, who keeps the address that they have here.
  campus.directory.entries.push(
    person('ruth.new', { attributes: { mail: ['new@example.edu'], entryUUID: ['uuid of ruth'] } }),
  )
  assert.equal(await epersonOf(campus, 'ruth.new'), uuid)
  // Another person with the old name and address is not the same.
  campus.directory.entries = [person('ruth', { attributes: { entryUUID: ['uuid of another'] } })]
  campus.directory.entries.push(...entries.slice(0, 1))
  assert.equal(await campus.logIn(), failed)
})

test('LD4 an identity that is linked stays when its eperson gets a password here: each password opens what it opened', async t => {
  const campus = await startCampus(t)
  const uuid = await epersonOf(campus, ruth.user)
  const { people } = campus.service.storage
  const { passwordHash } = (await campus.service
    .addEperson('max@example.org')
    .then(() => people.credentials('max@example.org'))) ?? { passwordHash: null }
  assert.ok(passwordHash)
  await people.setPassword({ email: ruth.email }, passwordHash, commandEvent('eperson.password'))
  assert.equal(await epersonOf(campus, ruth.user), uuid)
  assert.equal(await epersonOf(campus, ruth.email, passwordOf('max@example.org')), uuid)
  assert.equal(await campus.logIn(ruth.email), failed)
})

test('LD4 disabled epersons, and people who do not meet what is required, are refused like wrong passwords', async t => {
  const campus = await startCampus(t, {
    provider: { require: [{ attribute: 'employeeType', value: 'staff' }] },
  })
  assert.equal(await campus.logIn(), failed)
  campus.directory.entries.push(person('eve', { attributes: { employeeType: ['student', 'staff'] } }))
  assert.equal(await campus.logIn('eve'), '200')
  const { people } = campus.service.storage
  await people.setEnabled('eve@example.edu', false, commandEvent('eperson.disable'))
  const [refused, wrong] = await Promise.all(
    ['eve', 'nobody'].map(async user => {
      const response = await campus.service.client().tryLogin(user, ruth.password)
      const text = withoutRequestId(await response.text())
      return [response.status, text, response.headers.get('www-authenticate')]
    }),
  )
  assert.deepEqual(refused, wrong)
  await people.setEnabled('eve@example.edu', true, commandEvent('eperson.enable'))
  assert.equal(await campus.logIn('eve'), '200')
})

test('LD4 two people with one address are two, and the second gets no eperson of it', async t => {
  const campus = await startCampus(t)
  campus.directory.entries.push(
    person('twin', { attributes: { mail: [ruth.email] } }),
    person('odd', { attributes: { entryUUID: [] } }),
    person('double', { attributes: { entryUUID: ['1', '2'] } }),
    person('nomail', { attributes: { mail: [] } }),
  )
  // The search finds two people by the address, so no password is checked.
  assert.equal(await campus.logIn(ruth.email), failed)
  assert.equal(await campus.logIn(ruth.user), '200')
  assert.equal(await campus.logIn('twin'), failed)
  for (const user of ['odd', 'double', 'nomail']) assert.equal(await campus.logIn(user), failed, user)
})

test('LD4 a subject of bytes is one that is always the same, and no two are mixed up', async t => {
  const campus = await startCampus(t, { provider: { attributes: { subject: 'objectGUID' } } })
  const guid = (last: number) => Buffer.from([0xff, 0xfe, 0, 1, 2, 3, last])
  campus.directory.entries.push(
    person('one', { attributes: { objectGUID: [guid(0x80)] } }),
    person('two', { attributes: { objectGUID: [guid(0x81)] } }),
    person('text', { attributes: { objectGUID: [Buffer.from('plain text with\u0001')] } }),
  )
  const [one, two, again, text] = [
    await epersonOf(campus, 'one'),
    await epersonOf(campus, 'two'),
    await epersonOf(campus, 'one'),
    await epersonOf(campus, 'text'),
  ]
  assert.equal(one, again)
  assert.equal(new Set([one, two, text]).size, 3)
})

test('LD4 logins at once of someone who is new make one eperson', async t => {
  const campus = await startCampus(t)
  const made = await Promise.all(Array.from({ length: 8 }, () => epersonOf(campus, ruth.user)))
  assert.equal(new Set(made).size, 1)
  assert.equal(await campus.logIn('max'), '200')
})

test('LD2 names reach the directory as values, whatever characters they have', async t => {
  const template = { search: undefined, dn: `uid={user},${people}` }
  const strange = [
    '*',
    'r*',
    'ruth)(uid=*',
    '*)(uid=*))(|(uid=*',
    'a\\b',
    'ruth,ou=people',
    'ruth+cn=x',
    '#ruth',
  ]
  const odd = [...strange, '"ruth"', 'a=b', 'a;b', '<a>', 'café', '日本', 'x'.repeat(256)]
  for (const provider of [{}, template]) {
    const campus = await startCampus(t, { provider })
    for (const user of odd) {
      assert.equal(await campus.logIn(user), failed, user)
      const { asked } = campus.directory
      const sent =
        provider === template
          ? asked.findLast(one => one.kind === 'bind')?.dn
          : asked.findLast(one => one.kind === 'search')?.filter
      const expected =
        provider === template
          ? `uid=${user.replaceAll(/[\0"#+,;<=>\\]/g, one => `\\${one.charCodeAt(0).toString(16)}`)},${people}`
          : `(|(uid=${user})(mail=${user}))`
      assert.equal(sent, expected)
    }
    // The same characters in the name of an existing person.
    const name = 'o)(*,\\é'
    campus.directory.entries.push(
      person('strange', {
        dn: `uid=o)(*\\2c\\5cé,${people}`,
        attributes: { uid: [name], entryUUID: ['strange'] },
      }),
    )
    assert.equal(await campus.logIn(name), '200')
  }
})

test('LD2 what cannot be a name, and no password at all, are never sent', async t => {
  for (const provider of [{}, { search: undefined, dn: `uid={user},${people}` }]) {
    const campus = await startCampus(t, { provider })
    const { asked } = campus.directory
    const isSearch = (one: { kind: string; dn: string }) => one.kind === 'search' || one.dn.includes('uid=')
    for (const user of [
      'ruth\0',
      ' ruth',
      'ruth ',
      'ruth  r',
      'ｒｕｔｈ',
      'ru\u00adth',
      'ruth\n',
      '',
      'x'.repeat(257),
    ])
      assert.equal(await campus.logIn(user), failed, JSON.stringify(user))
    assert.deepEqual(asked.filter(isSearch), [])
    // The directory would accept these (RFC 4513 §5.1.2).
    for (const password of ['', '\0', `\0${ruth.password}`, `${ruth.password}\0`])
      assert.equal(await campus.logIn('ruth', password), failed, JSON.stringify(password))
    const bytes = await campus.service.client().postForm('/api/authn/login', 'user=ruth&password=%FF%FE')
    assert.equal(bytes.status, 401)
    assert.deepEqual(
      asked.filter(one => one.kind === 'bind' && one.dn.startsWith('uid=')),
      [],
    )
    assert.equal(await campus.logIn(), '200')
  }
})
