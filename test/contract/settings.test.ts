import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { toConfig } from '../../src/config/config.ts'
import { temporaryFolder } from '../support/service/service.ts'

/** Names that are no settings (D3). */
function configFile(t: TestContext, content: object): string {
  const file = join(temporaryFolder(t), 'carrel.json')
  writeFileSync(file, JSON.stringify(content))
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
  assert.throws(() => toConfig({ CARREL_FOO: '1' }), /CARREL_FOO is not a setting; known are CARREL_DATA, /)
  for (const [content, says] of [
    [{ specialGroup: {} }, /specialGroup .*did you mean specialGroups\?/],
    [{ PORT: 1 }, /PORT .*did you mean CARREL_PORT\?/],
    [{ specialGroups: { methods: [] } }, /"methods" is unknown; did you mean method\?/],
    [{ singleSignOn: { providers: [{}], method: [] } }, /method is unknown; did you mean methods\?/],
  ] as const)
    assert.throws(() => toConfig({ CARREL_CONFIG: configFile(t, content) }), says)
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
    // What Kubernetes sets for services that are called carrel and carrel-db; CARREL_PORT must be set then.
    CARREL_PORT: '8080',
    CARREL_SERVICE_HOST: '10.0.0.1',
    CARREL_SERVICE_PORT: '80',
    CARREL_SERVICE_PORT_HTTP: '80',
    CARREL_PORT_80_TCP: 'tcp://10.0.0.1:80',
    CARREL_PORT_80_TCP_PROTO: 'tcp',
    CARREL_PORT_80_TCP_PORT: '80',
    CARREL_PORT_80_TCP_ADDR: '10.0.0.1',
    CARREL_DB_PORT: 'tcp://10.0.0.2:5432',
  })
  assert.throws(() => toConfig({ CARREL_PORT: 'tcp://10.0.0.1:80' }), /CARREL_PORT: .*a port number/)
})
