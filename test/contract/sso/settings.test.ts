import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Ajv } from 'ajv'
import { toConfig } from '../../../src/config/config.ts'
import { identity } from '../../support/providers/certificates.ts'
import { repository } from '../../support/service/process.ts'
import { temporaryFolder } from '../../support/service/service.ts'

const oidc = { id: 'company', kind: 'oidc', issuer: 'https://id.example.org', clientId: 'carrel' }
const saml = { id: 'uni', kind: 'saml', metadata: 'idp.xml' }
const proxy = {
  id: 'apache',
  kind: 'proxy',
  addresses: ['10.0.0.5'],
  secretHeader: 'X-Proxy-Secret',
  secret: { env: 'PROXY_SECRET' },
  attributes: { subject: 'X-Subject' },
}
const secret = 'sixteen-characters-and-more'

/** A header value in which Apache, systemd or others left an undefined variable unreplaced. */
const literal = '$' + '{UNREPLACED_SECRET_OF_THE_PROXY}'

type Env = Readonly<Record<string, string>>

function configOf(t: TestContext, singleSignOn: unknown, env: Env = {}, more: object = {}) {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'carrel.json'), JSON.stringify({ singleSignOn, ...more }))
  writeFileSync(join(folder, 'secret'), `${secret}\n`)
  writeFileSync(join(folder, 'empty'), '\n')
  writeFileSync(join(folder, 'literal'), ` ${literal}\n`)
  return toConfig({ CARREL_CONFIG: join(folder, 'carrel.json'), PROXY_SECRET: secret, ...env })
}

test('D3 single sign-on has defaults that work, and secrets from the environment or a file', t => {
  const { singleSignOn, loginMethods } = configOf(t, {
    providers: [saml, { ...oidc, clientSecret: { file: 'secret' } }, proxy],
  })
  assert.deepEqual(loginMethods, ['password', 'shibboleth', 'oidc'])
  const [first, second, third] = singleSignOn?.providers ?? []
  assert.equal(first?.kind === 'saml' && first.attributes.subject, 'NameID')
  assert.equal(second?.kind === 'oidc' && second.clientSecret, secret)
  assert.deepEqual(second?.kind === 'oidc' && second.scopes, ['openid', 'profile', 'email'])
  assert.equal(third?.kind === 'proxy' && third.secret, secret)
  for (const provider of singleSignOn?.providers ?? []) {
    assert.equal(provider.create, false, 'nobody is created unless that is asked for')
    assert.equal(provider.email.match, false, 'an address alone opens no account')
  }
})

test('D3 the methods have the order of the configuration, and one that is left out is switched off', t => {
  const block = { providers: [oidc, saml], methods: ['shibboleth', 'oidc'] }
  assert.deepEqual(configOf(t, block).loginMethods, ['shibboleth', 'oidc'])
})

test('D3 what is wrong with single sign-on stops the start and is named with its place and what it takes', t => {
  const { privateKey, certificate } = identity('one')
  const foreign = identity('two').certificate
  const rule = { group: 'Staff', attribute: 'groups', value: 'staff' }
  const withRule = (more: object) => ({ providers: [{ ...oidc, groups: [{ ...rule, ...more }] }] })
  const curve = identity('curve', { kind: 'ec' })
  const pem = {
    ...{ KEY: privateKey, CERTIFICATE: certificate, FOREIGN: foreign },
    ...{ EC_KEY: curve.privateKey, EC_CERTIFICATE: curve.certificate },
  }
  for (const [block, pattern] of [
    ['x', /singleSignOn: must be an object, not a text/],
    [{}, /singleSignOn\.providers: is missing/],
    [{ providers: [] }, /singleSignOn\.providers: must have 1 or more elements, not 0/],
    [{ providers: [{}] }, /singleSignOn\.providers\[0\]\.kind: must be one of saml, oidc, proxy/],
    [{ providers: [null] }, /providers\[0\]\.kind: must be one of/],
    [{ providers: [{ ...oidc, kind: 'constructor' }] }, /providers\[0\]\.kind: must be one of/],
    [
      { providers: [{ ...oidc, clientId: undefined, clientID: 'x' }] },
      /providers\[0\]: clientID is unknown; did you mean clientId\?/,
    ],
    [{ providers: [{ ...oidc, issuer: 'id.example.org' }] }, /providers\[0\]\.issuer: must match pattern/],
    [{ providers: [{ ...oidc, issuer: 'http://id.example.org' }] }, /issuer: must begin with https/],
    [{ providers: [{ ...oidc, id: 'Company' }] }, /providers\[0\]\.id: must match pattern/],
    [{ providers: [oidc, oidc] }, /providers\[1\]\.id: company is used twice/],
    [{ providers: [{ ...oidc, scheme: 'login' }] }, /providers\[0\]\.scheme: is a reserved name/],
    [{ providers: [{ ...oidc, scheme: 'password' }] }, /scheme: is a reserved name/],
    [
      { providers: [{ ...oidc, clientSecret: 'hunter2 in the file' }] },
      /clientSecret: must be .*, which says where the secret is/,
    ],
    [
      { providers: [{ ...oidc, clientSecret: {} }] },
      /clientSecret: must be \{"env": "NAME"\} or \{"file": "path"\}/,
    ],
    [{ providers: [{ ...oidc, clientSecret: { env: 'NOT_SET' } }] }, /NOT_SET is not set/],
    [{ providers: [{ ...oidc, clientSecret: { file: 'none' } }] }, /the file none can't be read \(ENOENT\)/],
    [
      { providers: [{ ...oidc, parameters: { state: 'x' } }] },
      /providers\[0\]\.parameters\.state: is a reserved name/,
    ],
    [{ providers: [{ ...oidc, parameters: { max_age: '60' } }] }, /providers\[0\]\.parameters/],
    [{ providers: [{ ...oidc, maxAge: 0 }] }, /providers\[0\]\.maxAge: must be 1 to 31,536,000/],
    [
      { providers: [{ ...saml, maxAge: '8h' }] },
      /providers\[0\]\.maxAge: must be a whole number, not a text/,
    ],
    [{ providers: [{ ...proxy, maxAge: 60 }] }, /providers\[0\]: maxAge is unknown/],
    [{ providers: [{ ...proxy, silent: true }] }, /providers\[0\]: silent is unknown/],
    [{ providers: [{ ...oidc, acrValues: [] }] }, /acrValues: must have 1 to 10 elements, not 0/],
    [{ providers: [{ ...oidc, acrValues: ['gold silver'] }] }, /acrValues\[0\]: must match pattern/],
    [{ providers: [{ ...saml, acrValues: ['gold'] }] }, /providers\[0\]: acrValues is unknown/],
    [{ providers: [{ ...saml, authnContext: 'urn:x' }] }, /authnContext: must be an array, not a text/],
    [
      { providers: [{ ...oidc, logoutTokenType: 'JWT' }] },
      /logoutTokenType: must be one of logout\+jwt, any/,
    ],
    [{ providers: [{ ...oidc, scopes: ['email'] }] }, /scopes: must contain/],
    [
      { providers: [{ ...oidc, email: { verified: 'yes' } }] },
      /email\.verified: must be one of always, claim, never/,
    ],
    [{ providers: [{ ...proxy, attributes: {} }] }, /providers\[0\]\.attributes\.subject: is missing/],
    [{ providers: [{ ...proxy, addresses: ['campus'] }] }, /addresses: campus is not an address or network/],
    [{ providers: [{ ...proxy, secret: { env: 'SHORT' } }] }, /secret: must be at least 16 characters/],
    [
      { providers: [{ ...proxy, secret: { env: 'LITERAL' } }] },
      /providers\[0\]\.secret: the environment variable LITERAL has a placeholder such as \$\{NAME\} and not the secret/,
    ],
    [
      { providers: [{ ...oidc, clientSecret: { file: 'literal' } }] },
      /providers\[0\]\.clientSecret: the file literal has a placeholder/,
    ],
    [
      { providers: [oidc], saml: { privateKey: { env: 'LITERAL' }, certificate: { env: 'CERTIFICATE' } } },
      /saml\.privateKey: the environment variable LITERAL has a placeholder/,
    ],
    [
      { providers: [{ ...proxy, addresses: ['0.0.0.0/0'] }] },
      /addresses: 0\.0\.0\.0\/0 covers every address/,
    ],
    [
      { providers: [{ ...proxy, secretHeader: 'x-subject' }] },
      /attributes: X-Subject is a header with another meaning/,
    ],
    [
      { providers: [{ ...proxy, attributes: { subject: 'Cookie' } }] },
      /Cookie is a header with another meaning/,
    ],
    [{ providers: [{ ...proxy, attributes: { subject: 'X Sub: ' } }] }, /is not a header name/],
    [{ providers: [{ ...proxy, loginUrl: 'https://sp.example.edu/' }] }, /loginUrl: must match pattern/],
    [{ providers: [{ ...proxy, loginUrl: 'javascript:{target}' }] }, /loginUrl: must match pattern/],
    [{ providers: [{ ...proxy, separator: 'a' }] }, /separator: must match pattern/],
    [
      { providers: [{ ...proxy, email: { verified: 'claim' } }] },
      /attributes\.emailVerified must name the claim/,
    ],
    [{ providers: [{ ...oidc, scheme: 'Basic' }] }, /scheme: Basic is a reserved name/],
    [
      { providers: [{ ...oidc, email: { domains: ['@example.edu'] } }] },
      /email\.domains\[0\]: must match pattern/,
    ],
    [{ providers: [oidc], defaultRedirectUrl: 'http://a:b@localhost:8080/' }, /defaultRedirectUrl/],
    [{ providers: [oidc], defaultRedirectUrl: 'http://localhost:8080/\na' }, /defaultRedirectUrl/],
    [{ providers: [{ ...oidc, clientSecret: { file: 'empty' } }] }, /the file empty is empty/],
    [
      { providers: [oidc], saml: { privateKey: { env: 'EC_KEY' }, certificate: { env: 'EC_CERTIFICATE' } } },
      /must be an RSA key/,
    ],
    [withRule({ group: ' administrator' }), /may not be Administrator/],
    [withRule({ group: 'Administrator' }), /groups\[0\]\.group: may not be Administrator/],
    [withRule({ pattern: 'x' }), /groups\[0\]: needs either a value or a pattern/],
    [
      { providers: [{ ...oidc, groups: [{ group: 'a', attribute: 'b' }] }] },
      /needs either a value or a pattern/,
    ],
    [
      { providers: [{ ...oidc, groups: [{ group: 'a', attribute: 'b', pattern: '(' }] }] },
      /must be a regular expression/,
    ],
    [
      {
        providers: [
          { ...oidc, groups: Array.from({ length: 101 }, (_, at) => ({ ...rule, group: `g${at}` })) },
        ],
      },
      /more than 100 special groups/,
    ],
    [
      { providers: [oidc], methods: ['password', 'shibboleth'] },
      /methods: "shibboleth" is not one of password, oidc/,
    ],
    [
      { providers: [oidc], defaultRedirectUrl: 'https://elsewhere.example' },
      /defaultRedirectUrl: "https:\/\/elsewhere\.example" must be an address whose origin is in CARREL_ALLOWED_ORIGINS/,
    ],
    [{ providers: [oidc], saml: { privateKey: { env: 'KEY' } } }, /saml/],
    [
      { providers: [oidc], saml: { privateKey: { env: 'KEY' }, certificate: { env: 'FOREIGN' } } },
      /does not match the private key/,
    ],
    [
      { providers: [oidc], saml: { privateKey: { env: 'CERTIFICATE' }, certificate: { env: 'KEY' } } },
      /must be PEM/,
    ],
  ] as const)
    assert.throws(
      () => configOf(t, block, { SHORT: 'short', LITERAL: literal, ...pem }),
      (error: Error) => {
        assert.match(error.message, /^singleSignOn/)
        assert.match(error.message, pattern)
        assert.doesNotMatch(error.message, /hunter2|PRIVATE KEY|sixteen|UNREPLACED/)
        return true
      },
    )
})

test('D3 a placeholder is no secret for tokens either, and only a whole one is a placeholder', t => {
  assert.throws(
    () => toConfig({ CARREL_TOKEN_SECRET: literal }),
    (error: Error) => /^CARREL_TOKEN_SECRET/.test(error.message) && !error.message.includes('UNREPLACED'),
  )
  const odd = `a$5{${literal}`
  const { singleSignOn } = configOf(t, { providers: [proxy] }, { PROXY_SECRET: odd })
  const [provider] = singleSignOn?.providers ?? []
  assert.equal(provider?.kind === 'proxy' && provider.secret, odd)
})

test('D3 environment variables that hold secrets may have any name; others that begin with CARREL_ may not', t => {
  const env = { CARREL_MY_SECRET: secret }
  const mine = { ...proxy, secret: { env: 'CARREL_MY_SECRET' } }
  assert.ok(configOf(t, { providers: [mine] }, env).singleSignOn)
  assert.throws(() => configOf(t, { providers: [oidc] }, env), /CARREL_MY_SECRET is not a setting/)
})

test('G2 special groups of a method may name a scheme, and no scheme that there is not', t => {
  const specialGroups = { method: [{ group: 'Members', method: 'oidc' }] }
  const { methodGroups } = configOf(t, { providers: [oidc, proxy] }, {}, { specialGroups })
  assert.deepEqual(methodGroups, [{ group: 'Members', method: 'oidc' }])
  const others = [{ ...oidc, scheme: 'company' }, proxy]
  assert.throws(
    () => configOf(t, { providers: others }, {}, { specialGroups }),
    /specialGroups: method\[0\] must name one of password, company, shibboleth/,
  )
})

test('D3 the published JSON Schema takes what the service takes, and refuses what it refuses', () => {
  const schema = JSON.parse(readFileSync(join(repository, 'docs/reference/carrel.schema.json'), 'utf8'))
  const ajv = new Ajv({ strict: false })
  ajv.addFormat('regex', true)
  const takes = ajv.compile(schema)
  const groups = [{ group: 'Staff', attribute: 'groups', value: 'staff' }]
  const good = {
    $schema: 'carrel.schema.json',
    CARREL_PORT: 8080,
    CARREL_ALLOWED_ORIGINS: ['https://ui.example.edu'],
    specialGroups: { ip: [{ group: 'Campus', ranges: ['10.0.0.0/8'] }] },
    singleSignOn: { providers: [{ ...oidc, groups }, saml, proxy] },
  }
  assert.ok(takes(good), JSON.stringify(takes.errors))
  for (const wrong of [
    { ...good, CARREL_PROT: 1 },
    { singleSignOn: {} },
    { singleSignOn: { providers: [{ ...oidc, issuer: undefined, kind: 'saml' }] } },
    { singleSignOn: { providers: [{ ...oidc, clientSecret: 'plain' }] } },
  ])
    assert.equal(takes(JSON.parse(JSON.stringify(wrong))), false)
})
