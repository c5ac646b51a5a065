import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import type { KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assertProblem } from '../support/clients/answers.ts'
import { Authenticator, type PublicKey } from '../support/clients/authenticator.ts'
import { asked, factorsPath, origin, sendJson } from '../support/data/factors.ts'
import { ruthEmail } from '../support/data/ruth.ts'
import { test } from '../support/service/engines.ts'
import { passwordOf, startService } from '../support/service/service.ts'

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
  await service.addEperson(ruthEmail)
  const ruth = service.client()
  await ruth.login(ruthEmail)
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
