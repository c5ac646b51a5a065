import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import { Authenticator, coseOf, type PublicKey } from '../../support/clients/authenticator.ts'
import {
  asked,
  challenge,
  enrolPasskey,
  factorsPath,
  origin,
  passwordForm,
  sendJson,
  tryLogin,
} from '../../support/data/factors.ts'
import { ruthEmail } from '../../support/data/ruth.ts'
import { test } from '../../support/service/engines.ts'
import { passwordOf, startService } from '../../support/service/service.ts'

/** Makes a root certificate, and one for a key that Android would vouch for, whose list of revocations is at an address. */
function vouchersAt(address: string) {
  return (publicKey: KeyObject, clientHash: Buffer): readonly Buffer[] => {
    const folder = mkdtempSync(join(tmpdir(), 'carrel-test-'))
    const path = (name: string) => join(folder, name)
    const openssl = (...args: readonly string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
    try {
      // KeyDescription: version 3, software, version 4, software, the challenge, no id, and two empty lists.
      const description = `30340201030a01000201040a01000420${clientHash.toString('hex')}040030003000`
      writeFileSync(
        path('leaf.ext'),
        `1.3.6.1.4.1.11129.2.1.17=DER:${description}\ncrlDistributionPoints=URI:${address}\n`,
      )
      writeFileSync(path('leaf.pub'), publicKey.export({ type: 'spki', format: 'pem' }))
      const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
      openssl(
        'req',
        '-x509',
        ...key,
        '-keyout',
        path('root.key'),
        '-out',
        path('root.pem'),
        '-subj',
        '/CN=root',
      )
      openssl(
        'req',
        '-new',
        ...key,
        '-keyout',
        path('any.key'),
        '-out',
        path('leaf.csr'),
        '-subj',
        '/CN=leaf',
      )
      const signed = ['-CA', path('root.pem'), '-CAkey', path('root.key'), '-CAcreateserial']
      const leaf = ['-in', path('leaf.csr'), '-force_pubkey', path('leaf.pub'), '-extfile', path('leaf.ext')]
      openssl('x509', '-req', ...leaf, ...signed, '-out', path('leaf.pem'))
      return ['leaf', 'root'].map(name => {
        openssl('x509', '-in', path(`${name}.pem`), '-outform', 'DER', '-out', path(name))
        return readFileSync(path(name))
      })
    } finally {
      rmSync(folder, { recursive: true })
    }
  }
}

test('L14 certificates in the answer of a new passkey are not read, so that they send the service nowhere', async t => {
  const service = await startService(t, { env: { CARREL_BASE_URL: origin } })
  const ruth = await service.addLoggedIn(ruthEmail)
  const visits: (string | undefined)[] = []
  const inside = createServer(({ url }, answer) => {
    visits.push(url)
    answer.end()
  }).listen(0, '127.0.0.1')
  t.after(() => inside.close())
  await once(inside, 'listening')
  const { port } = inside.address() as AddressInfo

  const { enrolment, publicKey } = await asked<{ enrolment: string; publicKey: PublicKey }>(
    ruth,
    `${factorsPath}/enrolments`,
    { kind: 'passkey', name: 'My key', proof: { password: passwordOf(ruthEmail) } },
    201,
  )
  const webauthn = new Authenticator(origin).create(publicKey, {
    vouchers: vouchersAt(`http://127.0.0.1:${port}/inside`),
  })
  await assertProblem(await sendJson(ruth, factorsPath, { enrolment, webauthn }), 422, 'factor-refused')
  assert.deepEqual(visits, [])
  const device = new Authenticator(origin)
  await asked(ruth, factorsPath, { enrolment, webauthn: device.create(publicKey) }, 201)
})

async function started(t: TestContext) {
  const service = await startService(t, { env: { CARREL_BASE_URL: origin } })
  const { uuid } = await service.addEperson(ruthEmail)
  const ruth = await service.loggedIn(ruthEmail)
  const { token } = ruth
  /** Asks what a new passkey needs; the proof is the password. */
  const begin = () =>
    asked<{ enrolment: string; publicKey: PublicKey }>(
      ruth,
      `${factorsPath}/enrolments`,
      { kind: 'passkey', name: 'My key', proof: { password: passwordOf(ruthEmail) } },
      201,
    )
  /** Answers the second step of a login, which is refused without a factor. */
  const logIn = async (device: Authenticator, lies: Parameters<Authenticator['get']>[1] = {}) => {
    const asks = (await (await tryLogin(ruth, passwordForm(ruthEmail))).json()) as { ticket: string }
    const { ticket } = asks
    const webauthn = JSON.stringify(device.get(await challenge(ruth, { ticket }), lies))
    const answer = await tryLogin(ruth, { ticket, webauthn })
    ruth.token = token
    return answer
  }
  return { service, ruth, uuid, begin, logIn }
}

test('L14 a passkey is refused in a page that another origin has framed, when it is made and when it is used', async t => {
  const { ruth, begin, logIn } = await started(t)
  const frames = [
    { crossOrigin: true },
    { crossOrigin: 'true' },
    { crossOrigin: true, topOrigin: origin },
    { crossOrigin: true, topOrigin: 'https://evil.example' },
    { topOrigin: 'https://evil.example' },
    { topOrigin: origin },
  ]
  for (const frame of frames) {
    const { enrolment, publicKey } = await begin()
    const webauthn = new Authenticator(origin).create(publicKey, { frame })
    await assertProblem(await sendJson(ruth, factorsPath, { enrolment, webauthn }), 422, 'factor-refused')
  }
  const { device } = await enrolPasskey(ruth, { proof: { password: passwordOf(ruthEmail) } })
  for (const frame of frames)
    await assertProblem(await logIn(device, { frame }), 401, 'second-factor-required')
  for (const frame of [{}, { crossOrigin: undefined }])
    assert.equal((await logIn(device, { frame })).status, 200)
})

test('L14 a passkey whose key is weak, or of an algorithm that was not asked for, is refused', async t => {
  const { ruth, begin } = await started(t)
  const rsa = (modulusLength: number, publicExponent = 65_537) =>
    generateKeyPairSync('rsa', { modulusLength, publicExponent }).publicKey
  const curve = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey
  const strong = rsa(2_048)
  const offCurve = coseOf(curve('P-256'))
  offCurve[offCurve.length - 1] = (offCurve.at(-1) ?? 0) ^ 1
  const refused = {
    'RSA of 8 bits': Buffer.from('a40103033901002041ef2143010001', 'hex'),
    'RSA of 1,024 bits': coseOf(rsa(1_024)),
    'RSA of 2,047 bits': coseOf(rsa(2_047)),
    'a public exponent of 3': coseOf(rsa(2_048, 3)),
    'RS1, with SHA-1': coseOf(strong, '39fffe'),
    RS512: coseOf(strong, '390102'),
    PS256: coseOf(strong, '3824'),
    'P-384 as ES256': coseOf(curve('P-384')),
    'secp256k1 as ES256': coseOf(curve('secp256k1')),
    ES384: coseOf(curve('P-384'), '3822'),
    'a point beside the curve': offCurve,
    'P-256 as EdDSA': coseOf(curve('P-256'), '27'),
    'no key': Buffer.from('a0', 'hex'),
  }
  for (const [name, publicKey] of Object.entries(refused)) {
    const { enrolment, publicKey: options } = await begin()
    const webauthn = new Authenticator(origin).create(options, { publicKey })
    const answer = await sendJson(ruth, factorsPath, { enrolment, webauthn })
    assert.equal(answer.status, 422, name)
    await assertProblem(answer, 422, 'factor-refused')
  }
})

test('L14 passkeys of RSA and Ed25519 log in, and none does with a weak key that was taken before', async t => {
  const { service, ruth, uuid, begin, logIn } = await started(t)
  const rsa = (modulusLength: number) =>
    new Authenticator(origin, generateKeyPairSync('rsa', { modulusLength }))
  const devices = [rsa(2_048), new Authenticator(origin, generateKeyPairSync('ed25519'))]
  const [first, second] = devices
  assert.ok(first && second)
  const { enrolment, publicKey } = await begin()
  await asked(ruth, factorsPath, { enrolment, webauthn: first.create(publicKey) }, 201)
  const proof = { webauthn: first.get(await challenge(ruth, { purpose: 'proof' })) }
  const more = await asked<{ enrolment: string; publicKey: PublicKey }>(
    ruth,
    `${factorsPath}/enrolments`,
    { kind: 'passkey', name: 'Another', proof },
    201,
  )
  const webauthn = second.create(more.publicKey)
  await asked(ruth, factorsPath, { enrolment: more.enrolment, webauthn }, 201)
  for (const device of devices) assert.equal((await logIn(device)).status, 200)

  const keys = generateKeyPairSync('rsa', { modulusLength: 1_024 })
  const weak = new Authenticator(origin, keys)
  const stored = { id: randomUUID(), eperson: uuid, kind: 'passkey', name: 'Old', alone: false } as const
  const about = { secret: coseOf(keys.publicKey), credential: weak.id, counter: 0, created: 1, used: null }
  const event = commandEvent('factor.add')
  assert.equal(await service.storage.factors.add({ ...stored, ...about }, null, null, event), 'added')
  await assertProblem(await logIn(weak, { userHandle: null }), 401, 'second-factor-required')
})
