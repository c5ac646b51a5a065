import assert from 'node:assert/strict'
import { commandEvent } from '../../src/cli/store.ts'
import { eventsOf } from '../support/data/events.ts'
import { ruthEmail } from '../support/data/ruth.ts'
import { test, testOn } from '../support/service/engines.ts'
import { carrel, type Finished } from '../support/service/process.ts'
import { type Service, startService } from '../support/service/service.ts'

const run = ({ dataFolder }: Service, ...args: readonly string[]) =>
  carrel(dataFolder, ['access-token', ...args])

function outputOf({ code, stdout, stderr }: Finished): string {
  assert.equal(code, 0, stdout + stderr)
  assert.equal(stderr, '')
  return stdout.trim()
}

function assertRefused({ code, stdout, stderr }: Finished, expected: 1 | 2, says: RegExp): void {
  assert.equal(code, expected, stdout + stderr)
  assert.equal(stdout, '')
  assert.match(stderr, /^carrel: [^\n]+\n$/)
  assert.match(stderr, says)
}

test('K6 D8 carrel access-token makes, lists and revokes tokens of a running service', async t => {
  const service = await startService(t)
  const { uuid } = await service.addEperson(ruthEmail, { password: null })
  await service.addEperson('root@example.org', { admin: true })
  const scope = ['--entities', 'birds, plants', '--networks', '127.0.0.1,10.0.0.0/8']
  const token = outputOf(await run(service, 'add', 'RUTH@example.org', '--name', 'nightly', ...scope))
  assert.match(token, /^carrel_pat_[0-9A-Za-z]{61}$/)
  const client = service.client()
  assert.equal(await client.isLoggedIn(token), true)
  const list = outputOf(await run(service, 'list', ruthEmail, '--json'))
  assert.ok(!list.includes(token))
  const [listed, ...more] = JSON.parse(list) as Record<string, unknown>[]
  assert.equal(more.length, 0)
  const { id, email, name, methods, parts, entities, networks } = listed ?? {}
  assert.deepEqual(
    { email, name, methods, parts, entities, networks },
    {
      email: ruthEmail,
      name: 'nightly',
      methods: ['GET'],
      parts: ['query'],
      entities: ['birds', 'plants'],
      networks: ['127.0.0.1', '10.0.0.0/8'],
    },
  )
  assert.match(outputOf(await run(service, 'list')), /nightly {2}GET/)
  assert.match(outputOf(await run(service, 'revoke', String(id))), /^Revoked/)
  assert.equal(await client.isLoggedIn(token), false)

  const made = JSON.parse(outputOf(await run(service, 'add', ruthEmail, '--name', 'b', '--json'))) as {
    token: string
  }
  assert.match(outputOf(await run(service, 'revoke', '--all', ruthEmail)), /^Revoked 1 /)
  assert.equal(await client.isLoggedIn(made.token), false)
  const admin = service.client()
  await admin.login('root@example.org')
  const events = [...(await eventsOf(admin, 'token.add')), ...(await eventsOf(admin, 'token.revoke'))]
  assert.deepEqual(
    events.map(({ eperson, actor }) => [eperson, actor]),
    Array.from({ length: 4 }, () => [uuid, null]),
  )
})

testOn('sqlite', 'K6 D1 carrel access-token says what is wrong', async t => {
  const service = await startService(t)
  await service.addEperson(ruthEmail)
  assertRefused(await run(service, 'add', ruthEmail), 2, /--name/)
  assertRefused(await run(service, 'add', 'no@example.org', '--name', 'x'), 1, /carrel eperson list/)
  assertRefused(await run(service, 'add', ruthEmail, '--name', 'x', '--methods', 'LOOK'), 2, /GET, POST/)
  assertRefused(await run(service, 'add', ruthEmail, '--name', 'x', '--expires', 'never'), 2, /expires/)
  assertRefused(await run(service, 'revoke', 'x'), 1, /carrel access-token list/)
  assertRefused(await run(service, 'revoke'), 2, /--all/)
  assertRefused(await run(service, 'revoke', 'x', '--all', ruthEmail), 2, /--all/)
  outputOf(await run(service, 'add', ruthEmail, '--name', 'x'))
  assertRefused(await run(service, 'add', ruthEmail, '--name', 'x'), 1, /of this name/)
  await service.storage.people.setEnabled(ruthEmail, false, commandEvent('eperson.disable'))
  assertRefused(await run(service, 'add', ruthEmail, '--name', 'y'), 1, /carrel eperson enable/)
  const none = { env: { CARREL_ACCESS_TOKEN_LIFETIME: '0' } }
  assertRefused(
    await carrel(service.dataFolder, ['access-token', 'add', ruthEmail, '--name', 'z'], none),
    1,
    /CARREL_ACCESS_TOKEN_LIFETIME/,
  )
})
