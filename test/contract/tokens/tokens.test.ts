import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { jwtVerify } from 'jose'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertUnauthorized } from '../../support/clients/answers.ts'
import { bearerOf, type Client } from '../../support/clients/client.ts'
import {
  base64url,
  begunOf,
  claimsOf,
  derivedKey,
  keyOf,
  ownBegun,
  ownHeader,
  partsOf,
  secretsOf,
  sessionKey,
  signed,
  signedHere,
  signedParts,
} from '../../support/clients/jwt.ts'
import { exchange, head } from '../../support/clients/raw.ts'
import { ruthEmail, startWithRuthLoggedIn } from '../../support/data/ruth.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { carrel, serve } from '../../support/service/process.ts'
import { hashOf, passwordOf, startService, temporaryFolder } from '../../support/service/service.ts'
import { assertAcceptedUntil, until } from '../../support/service/waiting.ts'

/** Returns claims like those of a valid token of the eperson, for forging. */
const freshClaims = (eid: string) => ({ eid, sg: [], exp: Date.now() / 1000 + 600 })

/**
 * Asserts that the status shows no login, and that a request that needs one is a 401 with WWW-Authenticate.
 */
async function assertNoValidToken(client: Client, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` }
  assert.equal((await client.status('/api/authn/status', headers)).authenticated, false)
  await assertUnauthorized(await client.post('/api/authn/shortlivedtokens', undefined, headers))
}

/** Checks all tokens before it fails, so that one run names every token that was accepted. */
async function assertNoneValid(client: Client, tokens: Readonly<Record<string, string>>): Promise<void> {
  const accepted: string[] = []
  for (const [name, token] of Object.entries(tokens))
    await assertNoValidToken(client, token).catch(error => accepted.push(`${name}: ${error.message}`))
  assert.deepEqual(accepted, [])
}

test('T1 a token has exactly the claims eid, sg and exp', async t => {
  const { uuid, client, token } = await startWithRuthLoggedIn(t)
  for (const one of [token, await client.refresh(), await client.shortLivedToken()]) {
    const claims = claimsOf(one)
    assert.deepEqual(Object.keys(claims).sort(), ['eid', 'exp', 'sg'])
    assert.equal(claims.eid, uuid)
    assert.deepEqual(claims.sg, [])
    assert.equal(typeof claims.exp, 'number')
    assert.deepEqual(JSON.parse(partsOf(one).header), { alg: 'HS256', typ: 'JWT', kid: String(begunOf(one)) })
  }
})

test('T1 an independent library verifies both kinds of token with the documented key', async t => {
  const { service, uuid, client, token } = await startWithRuthLoggedIn(t)
  const key = sessionKey(await keyOf(service, uuid), begunOf(token))
  const login = await jwtVerify(token, key, { algorithms: ['HS256'], typ: 'JWT' })
  assert.equal(login.payload.eid, uuid)

  const shortKey = sessionKey(await keyOf(service, uuid, 'short-lived'), begunOf(token))
  const short = await client.withShortLived(made => jwtVerify(made, shortKey, { algorithms: ['HS256'] }))
  assert.equal(short.payload.eid, uuid)
})

test('T1 a token made by the documentation alone is accepted', async t => {
  const { service, uuid, client } = await startWithRuthLoggedIn(t)
  const key = await keyOf(service, uuid)
  assert.equal(await client.isLoggedIn(signedHere(JSON.stringify(freshClaims(uuid)), key)), true)
})

test('T2 a login token lives 30 minutes by default, counted from when it was made', async t => {
  const service = await startService(t)
  await service.addEperson(ruthEmail)
  const client = service.client()
  const before = Date.now()
  const { exp } = claimsOf(await client.login(ruthEmail))
  assert.ok(exp * 1000 > before + 1_799_000 && exp * 1000 <= Date.now() + 1_800_000)
})

test('T2 the life of login tokens is configurable', async t => {
  const { client } = await startWithRuthLoggedIn(t, { CARREL_TOKEN_LIFETIME: '7200' })
  const before = Date.now()
  const { exp } = claimsOf(await client.refresh())
  assert.ok(exp * 1000 > before + 7_198_000 && exp * 1000 <= Date.now() + 7_200_000)
})

testOn(
  'sqlite',
  'T2 the exp of a login token is a whole second, within its lifetime and its session’s, however it was got',
  async t => {
    for (const env of [
      {},
      { CARREL_TOKEN_LIFETIME: '90.5' },
      { CARREL_SESSION_LIFETIME: '60.7' },
      { CARREL_TOKEN_LIFETIME: '1', CARREL_SESSION_LIFETIME: '1' },
    ]) {
      const { service, client, token } = await startWithRuthLoggedIn(t, env)
      const { tokenLifetime, sessionLifetime } = service.config
      const lifetime = Math.min(tokenLifetime, sessionLifetime ?? tokenLifetime) * 1000
      const printed = await carrel(service.dataFolder, ['token', ruthEmail], { env })
      const tokens = [token, printed.stdout.trim()]
      if (lifetime > 1000) tokens.push(await client.refresh())
      for (const one of tokens) {
        const { exp } = claimsOf(one)
        assert.ok(Number.isInteger(exp), `${exp} ${JSON.stringify(env)}`)
        assert.ok(
          exp * 1000 <= Math.min(Date.now() + lifetime, begunOf(one) + (sessionLifetime ?? exp) * 1000),
        )
        assert.ok(exp * 1000 > begunOf(one) + lifetime - 2000, `${exp} ${JSON.stringify(env)}`)
      }
      await service.stop()
    }
  },
)

test('T3 a token is valid until exp and not a moment longer', async t => {
  const { client, token } = await startWithRuthLoggedIn(t, { CARREL_TOKEN_LIFETIME: '2' })
  await assertAcceptedUntil(claimsOf(token).exp, () => client.isLoggedIn(token))
  await assertNoValidToken(client, token)
})

test('T3 a token that is over when it first arrives is not accepted', async t => {
  const { service, uuid, client } = await startWithRuthLoggedIn(t)
  const key = await keyOf(service, uuid)
  const endedAt = (exp: unknown) => signedHere(JSON.stringify({ eid: uuid, sg: [], exp }), key)
  const now = Date.now() / 1000
  await assertNoneValid(client, {
    'a moment ago': endedAt(now - 0.001),
    'a minute ago': endedAt(now - 60),
    'at the epoch': endedAt(0),
    'before the epoch': endedAt(-1),
  })
})

test('T3 refreshing gives another exp, a later one once a second is over, keeps every other claim, and leaves the old token valid', async t => {
  const { client, token } = await startWithRuthLoggedIn(t)
  const refreshed = await client.refresh()
  const [old, fresh] = [claimsOf(token), claimsOf(refreshed)]
  assert.notEqual(fresh.exp, old.exp)
  await until('a later exp', async () => claimsOf(await client.refresh()).exp > old.exp)
  assert.deepEqual({ ...fresh, exp: 0 }, { ...old, exp: 0 })
  assert.equal(await client.isLoggedIn(token), true)
  assert.equal(await client.isLoggedIn(refreshed), true)
})

test('T6 disabling an eperson ends its tokens at once and enabling does not bring them back', async t => {
  const { service, client, token } = await startWithRuthLoggedIn(t)
  const short = await client.shortLivedToken()
  await service.storage.people.setEnabled(ruthEmail, false, commandEvent('eperson.disable'))
  await assertNoValidToken(client, token)
  assert.equal(
    (await service.client().status(`/api/authn/status?authentication-token=${short}`)).authenticated,
    false,
  )

  await service.storage.people.setEnabled(ruthEmail, true, commandEvent('eperson.enable'))
  await assertNoValidToken(client, token)
  assert.equal(await client.isLoggedIn(await client.login(ruthEmail)), true)
})

test('T6 deleting an eperson ends its tokens at once, also for a new account of the same address', async t => {
  const { service, client, token } = await startWithRuthLoggedIn(t)
  await service.storage.people.deleteEperson(ruthEmail, commandEvent('eperson.delete'))
  await assertNoValidToken(client, token)
  await service.addEperson(ruthEmail)
  await assertNoValidToken(client, token)
})

test('T6 changing the password ends the tokens at once, also when the new password is the old one', async t => {
  const { service, client, token } = await startWithRuthLoggedIn(t)
  const hash = await hashOf(passwordOf(ruthEmail))
  await service.storage.people.setPassword({ email: ruthEmail }, hash, commandEvent('eperson.password'))
  await assertNoValidToken(client, token)
  assert.equal(await client.isLoggedIn(await client.login(ruthEmail)), true)
})

test('T6 what ends the tokens of one eperson leaves those of others valid', async t => {
  const { service, client, token } = await startWithRuthLoggedIn(t)
  const max = await service.addLoggedIn('max@example.org')
  await service.storage.people.deleteEperson(ruthEmail, commandEvent('eperson.delete'))
  assert.equal(await client.isLoggedIn(token), false)
  assert.equal(await max.isLoggedIn(), true)
})

test('T7 tokens survive a restart of the service', async t => {
  const { service, token } = await startWithRuthLoggedIn(t)
  await service.stop()
  const again = await startService(t, { dataFolder: service.dataFolder })
  assert.equal(await again.client().isLoggedIn(token), true)
})

test('T7 the generated secret has 256 bits, and is another one in every store', async t => {
  const [one, other] = [await startService(t), await startService(t)]
  const [secret, otherSecret] = [await secretsOf(one.dataFolder), await secretsOf(other.dataFolder)]
  assert.deepEqual([secret.length, secret[0]?.length], [1, 32])
  assert.notDeepEqual(secret, otherSecret)
})

testOn(
  'sqlite',
  'T7 the secret is in a file that is for its owner only, also when it was rotated',
  async t => {
    const { dataFolder, storage } = await startService(t)
    const mode = () => statSync(join(dataFolder, 'secret')).mode & 0o777
    assert.equal(mode(), 0o600)
    await storage.secrets.rotate(commandEvent('secret.rotate'))
    assert.equal(mode(), 0o600)
  },
)

testOn(
  'postgres',
  'T7 the secret is in the database, shared by all nodes, and in no file of theirs',
  async t => {
    const { service: one, token } = await startWithRuthLoggedIn(t)
    const other = await startService(t, { dataFolder: one.dataFolder })
    const [secret] = await secretsOf(one.dataFolder)
    for (const node of [one, other])
      assert.deepEqual(node.storage.secrets.current().map(Buffer.from), [secret])
    assert.equal(await other.client().isLoggedIn(token), true)
    assert.deepEqual(readdirSync(one.dataFolder), [])
  },
)

test('T7 rotating the secret logs nobody out and new tokens are made with the new one', async t => {
  const { service, uuid, client, token } = await startWithRuthLoggedIn(t)
  const pair = await client.csrfPair()
  assert.equal(await service.storage.secrets.rotate(commandEvent('secret.rotate')), 2)
  const [newest, old] = await secretsOf(service.dataFolder)
  assert.ok(newest && old)
  const newKey = await keyOf(service, uuid, 'login', newest)
  const refresh = async () => {
    assert.equal(await client.isLoggedIn(token), true)
    const answer = await client.post('/api/authn/login', undefined, {
      cookie: pair.cookie,
      'x-xsrf-token': pair.value,
    })
    assert.equal(answer.status, 200, 'the CSRF pair and the token of before are taken')
    const refreshed = bearerOf(answer)
    assert.equal(await client.isLoggedIn(refreshed), true)
    return refreshed
  }
  const isMadeWith = (key: Uint8Array, made: string) =>
    jwtVerify(made, sessionKey(key, begunOf(made))).then(
      () => true,
      () => false,
    )
  // A running service notices a rotation within a second. If there may be other nodes, it waits for them,
  // too.
  await until('a token that is made with the new secret', async () => isMadeWith(newKey, await refresh()))
  assert.equal(await isMadeWith(newKey, await refresh()), true, 'from then on')
  assert.equal(await isMadeWith(await keyOf(service, uuid, 'login', old), token), true)
  assert.equal(await client.isLoggedIn(token), true)
})

test('T7 a configured list of secrets accepts tokens of each and makes tokens with the first', async t => {
  const [old, fresh] = ['o'.repeat(32), 'n'.repeat(40)]
  const dataFolder = temporaryFolder(t)
  const startWith = (CARREL_TOKEN_SECRET: string) =>
    startService(t, { dataFolder, env: { CARREL_TOKEN_SECRET } })

  const before = await startWith(old)
  const { uuid } = await before.addEperson(ruthEmail)
  const client = before.client()
  const oldToken = await client.login(ruthEmail)
  const oldKey = await keyOf(before, uuid, 'login', Buffer.from(old))
  await jwtVerify(oldToken, sessionKey(oldKey, begunOf(oldToken)))
  await before.stop()

  const both = await startWith(`${fresh},${old}`)
  assert.equal(await both.client().isLoggedIn(oldToken), true)
  const newToken = await both.client().login(ruthEmail)
  const newKey = await keyOf(both, uuid, 'login', Buffer.from(fresh))
  await jwtVerify(newToken, sessionKey(newKey, begunOf(newToken)))
  await both.stop()

  const after = await startWith(fresh)
  assert.equal(await after.client().isLoggedIn(newToken), true)
  assert.equal(await after.client().isLoggedIn(oldToken), false)
})

test('T8 nothing in the header of a token chooses how it is verified', async t => {
  const { service, uuid, client } = await startWithRuthLoggedIn(t)
  const key = sessionKey(await keyOf(service, uuid), ownBegun)
  const payload = JSON.stringify(freshClaims(uuid))
  const named = (header: string) => header.replace(/\}$/, `,"kid":"${ownBegun}"}`)
  assert.equal(await client.isLoggedIn(signed(named('{"alg":"HS256","typ":"JWT"}'), payload, key)), true)
  const unsigned = (header: string) => `${base64url(header)}.${base64url(payload)}.`
  const otherHash = (alg: string, hash: string) => {
    const input = `${base64url(named(`{"alg":"${alg}","typ":"JWT"}`))}.${base64url(payload)}`
    return `${input}.${createHmac(hash, key).update(input).digest('base64url')}`
  }
  const headers = [
    '{"typ":"JWT","alg":"HS256"}',
    '{"alg":"HS256"}',
    '{ "alg":"HS256","typ":"JWT"}',
    '{"alg":"HS256","typ":"jwt"}',
    '{"alg":"hs256","typ":"JWT"}',
    '{"alg":"none","typ":"JWT"}',
    '{"alg":"None","typ":"JWT"}',
    '{"alg":"RS256","typ":"JWT"}',
    '{"alg":["HS256"],"typ":"JWT"}',
    '{"alg":"none","alg":"HS256","typ":"JWT"}',
    '{"alg":"HS256","typ":"JWT","kid":"../../../../dev/null"}',
    '{"alg":"HS256","typ":"JWT","jku":"http://127.0.0.1:1/jwks"}',
    '{"alg":"HS256","typ":"JWT","x5u":"http://127.0.0.1:1/x5u"}',
    '{"alg":"HS256","typ":"JWT","jwk":{"kty":"oct","k":"AA"}}',
    '{"alg":"HS256","typ":"JWT","crit":["exp"]}',
    '{"alg":"HS256","typ":"JWT","b64":false,"crit":["b64"]}',
    '{"alg":"HS256","typ":"JWT","zip":"DEF"}',
    'null',
    '[]',
    '{',
  ]
  await assertNoneValid(client, {
    ...Object.fromEntries(headers.map(header => [header, signed(named(header), payload, key)])),
    'none without signature': unsigned(named('{"alg":"none","typ":"JWT"}')),
    'own header without signature': unsigned(ownHeader),
    HS512: otherHash('HS512', 'sha512'),
    'HS256 in name only': otherHash('HS256', 'sha512'),
  })
})

test('T8 a token in any other serialization or spelling is no valid token', async t => {
  const { client, token } = await startWithRuthLoggedIn(t)
  const [header = '', payload = '', signature = ''] = token.split('.')
  // 32 bytes end in a character with two unused bits, so three other characters decode to the same bytes.
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = alphabet.indexOf(signature.at(-1) ?? '')
  const respelled = [1, 2, 3].map(bits => signature.slice(0, -1) + alphabet[last ^ bits])
  for (const one of respelled) assert.deepEqual(Buffer.from(one, 'base64url'), partsOf(token).signature)

  const flattened = { protected: header, payload, signature }
  await assertNoneValid(client, {
    ...Object.fromEntries(respelled.map((one, at) => [`respelled ${at}`, `${header}.${payload}.${one}`])),
    'padded signature': `${token}=`,
    'doubly padded signature': `${token}==`,
    'padded payload': `${header}.${payload}=.${signature}`,
    'padded header': `${header}=.${payload}.${signature}`,
    'trailing dot': `${token}.`,
    'leading dot': `.${token}`,
    'four parts': `${token}.${signature}`,
    'five parts': `${header}..${payload}.${signature}.${signature}`,
    'without signature': `${header}.${payload}`,
    'empty signature': `${header}.${payload}.`,
    'empty payload': `${header}..${signature}`,
    'header only': header,
    'dots only': '..',
    'cut short': token.slice(0, -1),
    'one character more': `${token}A`,
    'another first character': `f${token.slice(1)}`,
    'upper case': token.toUpperCase(),
    'flattened JSON serialization': JSON.stringify(flattened),
    'general JSON serialization': JSON.stringify({
      payload,
      signatures: [{ protected: header, signature }],
    }),
    'base64url of the flattened one': base64url(JSON.stringify(flattened)),
    'twice with a comma': `${token},${token}`,
    quoted: `"${token}"`,
    percent: `${header}%2E${payload}%2E${signature}`,
  })
})

test('T8 a token whose signature is right but whose claims make no sense is no valid token', async t => {
  const { service, uuid, client } = await startWithRuthLoggedIn(t)
  const key = await keyOf(service, uuid)
  const { exp } = freshClaims(uuid)
  const payloads = [
    '',
    'null',
    '1',
    '"text"',
    '[]',
    '{}',
    '{"eid"',
    '\u0000',
    JSON.stringify({ sg: [], exp }),
    JSON.stringify({ eid: uuid, exp }),
    JSON.stringify({ eid: uuid, sg: [] }),
    JSON.stringify({ eid: [uuid], sg: [], exp }),
    JSON.stringify({ eid: { toString: uuid }, sg: [], exp }),
    JSON.stringify({ eid: uuid, sg: 'x', exp }),
    JSON.stringify({ eid: uuid, sg: { length: 0 }, exp }),
    JSON.stringify({ eid: uuid, sg: [1], exp }),
    JSON.stringify({ eid: uuid, sg: [], exp: String(exp) }),
    JSON.stringify({ eid: uuid, sg: [], exp: [exp] }),
    JSON.stringify({ eid: uuid, sg: [], exp: true }),
    JSON.stringify({ eid: uuid, sg: [], exp: null }),
    JSON.stringify({ eid: '', sg: [], exp }),
    JSON.stringify({ eid: '__proto__', sg: [], exp }),
    JSON.stringify({ eid: `${uuid}\u0000`, sg: [], exp }),
    `{"eid":"\\ud800","sg":[],"exp":${exp}}`,
    `{"__proto__":{"eid":"${uuid}","sg":[],"exp":${exp}}}`,
  ]
  await assertNoneValid(
    client,
    Object.fromEntries(payloads.map(payload => [payload, signedHere(payload, key)])),
  )
  const deep = `${'['.repeat(3_000)}${']'.repeat(3_000)}`
  await assertNoValidToken(client, signedHere(`{"eid":${deep}}`, key))
})

test('T8 a signed token with duplicate members is no valid token', async t => {
  const { service, uuid, client } = await startWithRuthLoggedIn(t)
  const key = await keyOf(service, uuid)
  const { exp } = freshClaims(uuid)
  await assertNoneValid(client, {
    'eid twice': signedHere(`{"eid":"nobody","eid":"${uuid}","sg":[],"exp":${exp}}`, key),
    'exp twice': signedHere(`{"eid":"${uuid}","sg":[],"exp":1,"exp":${exp}}`, key),
    'sg twice': signedHere(`{"eid":"${uuid}","sg":["x"],"sg":[],"exp":${exp}}`, key),
  })
})

test('T8 a signed token whose parts are not canonical base64url is no valid token', async t => {
  const { service, uuid, client } = await startWithRuthLoggedIn(t)
  const key = sessionKey(await keyOf(service, uuid), ownBegun)
  const header = base64url(ownHeader)
  const claims = JSON.stringify(freshClaims(uuid))
  // Extended until the payload needs padding.
  const padding = claims.length % 3 === 0 ? `${claims} ` : claims
  const standard = Buffer.from(padding).toString('base64')
  await assertNoneValid(client, {
    'padded payload': signedParts(header, standard, key),
    'header of another alphabet and padding': signedParts(`${header}=`, base64url(claims), key),
    'a character that is none of base64url': signedParts(header, `~${base64url(claims)}`, key),
    'a character within': signedParts(header, base64url(claims).replace(/^.{4}/, '$&~'), key),
  })
})

test('T8 a token longer than 8 kB is no valid token, in the header and in the address', async t => {
  const { service, uuid, client } = await startWithRuthLoggedIn(t)
  const longClaims = JSON.stringify({ ...freshClaims(uuid), sg: [randomBytes(3_400).toString('hex')] })
  const long = signedHere(longClaims, await keyOf(service, uuid))
  assert.ok(long.length > 9_000)
  await assertNoneValid(client, { signed: long, nonsense: 'a'.repeat(9_000), dots: '.'.repeat(9_000) })

  const longShort = signedHere(longClaims, await keyOf(service, uuid, 'short-lived'))
  for (const token of [longShort, 'b'.repeat(9_000)]) {
    const status = await service.client().status(`/api/authn/status?authentication-token=${token}`)
    assert.equal(status.authenticated, false)
  }
})

test('T8 a token made with any other key is no valid token', async t => {
  const { service, uuid, client } = await startWithRuthLoggedIn(t)
  const other = await service.addEperson('max@example.org')
  const [secret = Buffer.alloc(0)] = await secretsOf(service.dataFolder)
  const session = await service.storage.sessions.of(uuid)
  assert.ok(session)
  const claims = JSON.stringify(freshClaims(uuid))
  const keys: Record<string, Buffer> = {
    random: randomBytes(32),
    empty: Buffer.alloc(0),
    'the secret': secret,
    'the session key': Buffer.from(session.sessionKey),
    'of another eperson': await keyOf(service, other.uuid),
    'without a session key': derivedKey(secret, 'login/password'),
    'for CSRF': derivedKey(secret, 'csrf'),
    'for another method': derivedKey(secret, 'login/shibboleth', session.sessionKey),
    'of another secret': derivedKey(randomBytes(32), 'login/password', session.sessionKey),
  }
  await assertNoneValid(
    client,
    Object.fromEntries(Object.entries(keys).map(([name, key]) => [name, signedHere(claims, key)])),
  )
  const unknown = signedHere(JSON.stringify(freshClaims('00000000-0000-4000-8000-000000000000')), secret)
  await assertNoValidToken(client, unknown)
})

test('T8 T10 tokens and passwords are in no log', async t => {
  const { service, client, token } = await startWithRuthLoggedIn(t)
  const short = await client.shortLivedToken()
  const { address, output, stop } = await serve(t, service.dataFolder, { env: { CARREL_LOG_LEVEL: 'info' } })
  const query = `authentication-token=${short}`
  const bearer = `Authorization: Bearer ${token}`
  const requests = [
    head(`GET /api/authn/status?${query} HTTP/1.1`),
    head('GET /api/authn/status HTTP/1.1', bearer),
    head('GET /api/authn/status HTTP/1.1', `${bearer}tampered`),
    head(`GET /api/nothing?${query} HTTP/1.1`),
    head(`GET /api/%zz?${query} HTTP/1.1`),
    head(`GET /api/query/v4/audit-events?limit=x&${query} HTTP/1.1`),
    head(`PUT /api/authn/login?${query} HTTP/1.1`, bearer),
    head(`GET /api?${query} HTTP/9.9`),
    head(`GET /api?${query} HTTP/1.1`, bearer, 'bad header'),
    head(`GET /api?${query} HTTP/1.1`, bearer, `X-Long: ${'x'.repeat(70_000)}`),
  ]
  for (const request of requests) assert.ok(((await exchange(address, request))?.status ?? 400) < 500)
  const typed = 'a wrong password that was typed'
  const other = service.client()
  const { cookie, value } = await other.csrfPair()
  const login = `user=${encodeURIComponent(ruthEmail)}&password=${encodeURIComponent(typed)}`
  const form = 'Content-Type: application/x-www-form-urlencoded'
  const answer = await exchange(
    address,
    `${head(`POST /api/authn/login?${login} HTTP/1.1`, `Cookie: ${cookie}`, `X-XSRF-TOKEN: ${value}`, form, `Content-Length: ${login.length}`)}${login}`,
  )
  assert.equal(answer?.status, 401)
  assert.equal(await stop(), 0)

  const log = output.stdout + output.stderr
  assert.match(log, /"path":"\/api\/authn\/status"/, 'the log is written')
  for (const secret of [token, short])
    for (const part of secret.split('.').slice(1)) assert.ok(!log.includes(part))
  assert.ok(!log.includes('typed'))
  assert.ok(!log.includes(value))
})

test('T9 the scheme Bearer is case-insensitive', async t => {
  const { service, token } = await startWithRuthLoggedIn(t)
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
    const status = await service.client().status('/api/authn/status', { authorization: `${scheme} ${token}` })
    assert.equal(status.authenticated, true, scheme)
  }
})

test('T9 a malformed Authorization header is no valid token', async t => {
  const { service, token } = await startWithRuthLoggedIn(t)
  const client = service.client()
  for (const value of [
    '',
    'Bearer',
    'Bearer ',
    token,
    `Bearer${token}`,
    `Bearer:${token}`,
    `Bearer=${token}`,
    `Bearer ${token} ${token}`,
    `Bearer ${token}, Bearer ${token}`,
    `Bearer ${token},`,
    `Bearer "${token}"`,
    `Bearer token=${token}`,
    `Basic ${token}`,
    `Basic ${Buffer.from(`${ruthEmail}:${passwordOf(ruthEmail)}`).toString('base64')}`,
    `Token ${token}`,
    `X Bearer ${token}`,
    `Bearer ${token}\u00e9`,
  ])
    assert.equal(
      (await client.status('/api/authn/status', { authorization: value })).authenticated,
      false,
      value,
    )
})

test('T9 two Authorization headers are no valid token, whatever their order and spelling', async t => {
  const { service, token } = await startWithRuthLoggedIn(t)
  const authenticated = async (...lines: string[]) => {
    const answer = await exchange(service.address, head('GET /api/authn/status HTTP/1.1', ...lines))
    assert.equal(answer?.status, 200)
    return (JSON.parse(answer.body) as { authenticated: boolean }).authenticated
  }
  const valid = `Authorization: Bearer ${token}`
  assert.equal(await authenticated(valid), true)
  assert.equal(await authenticated(valid, valid), false)
  assert.equal(await authenticated(valid, `authorization: Bearer ${token}`), false)
  assert.equal(await authenticated(valid, 'AUTHORIZATION: Basic eA=='), false)
  assert.equal(await authenticated('Authorization: Basic eA==', valid), false)
  assert.equal(await authenticated('Authorization:', valid), false)
})

test('T9 where a valid token is required the answer is 401 with WWW-Authenticate', async t => {
  const { uuid, stranger: client } = await startWithRuthLoggedIn(t)
  for (const headers of [{}, { authorization: 'Bearer x' }, { authorization: 'Basic eA==' }]) {
    await assertUnauthorized(await client.get('/api/query/v4/audit-events', headers))
    await assertUnauthorized(await client.get(`/api/eperson/epersons/${uuid}`, headers))
    await assertUnauthorized(await client.post('/api/authn/shortlivedtokens', undefined, headers))
  }
})
