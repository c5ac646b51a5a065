import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { assertProblem } from '../support/clients/answers.ts'
import { PythonClient } from '../support/clients/python-client.ts'
import { addItem, membersOf, titled } from '../support/data/repository.ts'
import { test } from '../support/service/engines.ts'
import { passwordOf, type Service, startService } from '../support/service/service.ts'
import { inTime, shortLife } from '../support/service/waiting.ts'

async function started(t: TestContext) {
  const service = await startService(t, { env: { CARREL_BASE_URL: 'http://repo.example.edu/server' } })
  await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  await service.addEperson('max@example.org')
  const item = await addItem(service, {
    identifier: '123456789/1',
    metadata: titled('On Rivers'),
    files: [
      { name: 'open.txt', content: 'for everybody' },
      { name: 'closed.txt', content: 'for readers', readers: membersOf('Readers') },
      { name: 'license.txt', bundle: 'LICENSE' },
    ],
  })
  return { service, item }
}

const clientOf = (service: Service, email: string) => new PythonClient(service, email, passwordOf(email))

test('C4 the Python client authenticates: its first POST is 403 with a pair, its second is in', async t => {
  const { service } = await started(t)
  const client = clientOf(service, 'ruth@example.org')
  assert.equal(await client.authenticate(), true)
  assert.deepEqual(client.statuses, [403, 200, 200])
  assert.match(client.authorization ?? '', /^Bearer \S+$/)
  // A second login, with the session's token.
  assert.equal(await client.authenticate(), true)
  const refreshed = await client.refreshToken()
  assert.equal(refreshed.status, 200)
  assert.match(refreshed.headers.get('authorization') ?? '', /^Bearer \S+$/)

  const wrong = new PythonClient(service, 'ruth@example.org', 'wrong')
  assert.equal(await wrong.authenticate(), false)
  assert.equal(wrong.authorization, null)
})

test('F1 the Python client fetches an item, its bundles and files, and downloads what it may', async t => {
  const { service, item } = await started(t)
  const client = clientOf(service, 'ruth@example.org')
  assert.equal(await client.authenticate(), true)
  const found = await client.getItem(item.uuid)
  assert.deepEqual(
    [found.type, found.name, found.handle, found.metadata?.['dc.title']?.[0]?.value],
    ['item', 'On Rivers', '123456789/1', 'On Rivers'],
  )
  const bundles = await client.getBundles(found)
  assert.deepEqual(
    bundles.map(({ name }) => name),
    ['ORIGINAL', 'LICENSE'],
  )
  const [original] = bundles
  assert.ok(original)
  const bitstreams = await client.getBitstreams(original)
  assert.deepEqual(
    bitstreams.map(({ name, bundleName, sizeBytes }) => [name, bundleName, sizeBytes]),
    [
      ['open.txt', 'ORIGINAL', 13],
      ['closed.txt', 'ORIGINAL', 11],
    ],
  )
  for (const [at, content] of ['for everybody', 'for readers'].entries()) {
    const answer = await downloaded(client, bitstreams[at]?.uuid, 200)
    assert.equal(await answer.text(), content)
  }

  const max = clientOf(service, 'max@example.org')
  assert.equal(await max.authenticate(), true)
  assert.deepEqual(
    (await max.getBitstreams(original)).map(({ name }) => name),
    ['open.txt'],
  )
  await assertProblem(await downloaded(max, item.files.get('closed.txt')?.uuid, 403), 403, 'access-denied')
})

/** Downloads within the two seconds of the token (T2). */
const downloaded = (client: PythonClient, uuid: string | undefined, expected: number) =>
  inTime(shortLife, async () => {
    const answer = await client.downloadBitstream(uuid ?? '')
    assert.equal(answer.status, expected)
    return answer
  })

test('Q11 the Python client reads a whole list along next', async t => {
  const { service } = await started(t)
  for (let number = 2; number <= 5; number++)
    await addItem(service, { identifier: `123456789/${number}`, metadata: titled(`Title ${number}`) })
  const client = clientOf(service, 'ruth@example.org')
  assert.equal(await client.authenticate(), true)
  const names = (await client.all('/core/items', 'items', 2)).map(({ name }) => name)
  assert.deepEqual(names.toSorted(), ['On Rivers', 'Title 2', 'Title 3', 'Title 4', 'Title 5'])
})
