import assert from 'node:assert/strict'
import fc from 'fast-check'
import { documentFor } from '../support/clients/api-document.ts'
import type { Client } from '../support/clients/client.ts'
import { requestsOf } from '../support/data/arbitrary-requests.ts'
import { anyEperson, everybody, putItem } from '../support/data/repository.ts'
import { repeats, runs } from '../support/scale.ts'
import { test } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

/** Operations that stream until a process ends, or that affect the whole machine. */
const leftOut = new Set(['followProcess', 'runDoctor', 'beginScript'])

/** Every service in tests checks that its answers are documented (`watchAnswers`). */
test('OD3 requests with any values that the document describes get documented answers, and no 5xx', async t => {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' } })
  const [ruth, root] = ['ruth@example.org', 'root@example.org']
  const eperson = await service.addEperson(ruth, { groups: ['Readers'] })
  await service.addEperson(root, { admin: true })
  await service.addRecords('letters', 'id', [{ id: 1, title: 'A', more: { a: 1 } }])
  const { uuid, bitstreams } = await putItem(service, 'test/1', everybody, [
    { name: 'a.txt', readers: anyEperson },
  ])
  const clients = { anybody: service.client(), ruth: service.client(), root: service.client() }
  const login = async (client: Client, email: string) => {
    if (!(await client.isLoggedIn())) await client.login(email)
  }
  await login(clients.root, root)
  const document = await documentFor(clients.root)
  const known = {
    uuid: [uuid, eperson.uuid, ...bitstreams.map(one => one.uuid)],
    entity: ['letters', 'items', 'epersons', 'audit-events'],
    name: ['letters', 'verify'],
    key: ['1'],
    id: ['1'],
  }
  const requests = requestsOf(document, known, ({ operationId }) => leftOut.has(operationId))
  const faults: string[] = []
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom('anybody', 'ruth', 'root' as const),
      fc.array(requests, { minLength: 8, maxLength: 8 }),
      async (who, some) => {
        const client = clients[who]
        // An earlier request may have ended the session, or changed the account.
        if (who !== 'anybody') await login(client, who === 'ruth' ? ruth : root).catch(() => {})
        for (const { operationId, method, path, headers, body } of some) {
          const pair =
            method === 'GET' || method === 'HEAD' ? {} : { 'x-xsrf-token': (await client.csrfPair()).value }
          const response = await client.request(path, {
            method,
            headers: { ...headers, ...pair },
            ...(body === undefined || method === 'GET' || method === 'HEAD' ? {} : { body }),
          })
          await response.arrayBuffer()
          seen.add(operationId)
          if (response.status >= 500)
            faults.push(`${method} ${path} → ${response.status} ${body?.slice(0, 200)}`)
        }
      },
    ),
    runs(50, 600),
  )
  assert.deepEqual(faults, [])
  assert.ok(seen.size > repeats(100, 200), `${seen.size} operations`)
})
