import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { commandEvent } from '../../../src/cli/store.ts'
import { listPath } from '../../support/clients/listings.ts'
import { everybody, titled } from '../../support/data/repository.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

/** A request that may have to wait for its turn (Q18), while others don't wait with it. */
interface Asking {
  readonly path: string
  readonly token?: string
  /** The address of the client, in a network of its own. */
  readonly localAddress?: string
}

/**
 * Sends all requests at once; the last one must not wait for the others. On a busy machine, others may wait
 * longer than the service allows, and are sent again (E2).
 *
 * @returns the names in the order of their answers
 */
async function inOrder(service: Service, asked: readonly (readonly [name: string, Asking])[]) {
  const answered: string[] = []
  const send = async ({ path, token, localAddress = '127.0.0.1' }: Asking) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const sent = get(service.address + path, { agent: false, localAddress, headers })
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return { status: response.statusCode, body: await text(response) }
  }
  const ask = async (one: (typeof asked)[number]) => {
    const [name, asking] = one
    const { status, body } = await until(
      `an answer to ${name} that is not 503`,
      () => send(asking),
      answer => answer.status !== 503 || one === asked.at(-1),
    )
    assert.equal(status, 200, body)
    answered.push(name)
  }
  await Promise.all(asked.map(ask))
  return answered
}

const times = <T>(count: number, make: (at: number) => T) =>
  Array.from({ length: count }, (_, at) => make(at))

test('Q18 who wants an order that another network waits for does not wait in the line of that network', async t => {
  const service = await startService(t, { env: { CARREL_DATABASE_POOL_SIZE: '2' } })
  const fields = times(4, at => `f${at}`)
  await service.addRecords(
    'letters',
    'id',
    times(10_000, id => ({ id, ...Object.fromEntries(fields.map(field => [field, Math.random()])) })),
  )
  const orders = fields.flatMap(a => fields.filter(b => b !== a).map(b => [{ field: a }, { field: b }]))
  const wanted = (at: number) => listPath('letters', { order_by: orders[at] ?? [], limit: 1 })
  const answered = await inOrder(service, [
    ...orders.map((_, at) => ['theirs', { path: wanted(at) }] as const),
    ['ours', { path: wanted(orders.length - 1), localAddress: '127.0.0.2' }],
  ])
  assert.ok(answered.indexOf('ours') < orders.length / 2, answered.join())
})

testOn('sqlite', 'Q18 a page does not wait for searches for a part of a name', async t => {
  const service = await startService(t)
  await service.addEperson('root@example.org', { admin: true })
  const token = await service.client().login('root@example.org')
  // Their names are too long for the list of names, so a search reads the rows of all epersons.
  await Promise.all(
    times(300, at =>
      service.storage.people.addEperson(
        {
          email: `p${at}@example.org`,
          firstName: 'P',
          lastName: 'x'.repeat(60_000),
          passwordHash: null,
          administrator: false,
        },
        commandEvent('eperson.add'),
      ),
    ),
  )
  const search = '/api/eperson/epersons/search/byMetadata?query=nowhere'
  const answered = await inOrder(service, [
    ...times(12, at => ['search', { path: `${search}${at}`, token }] as const),
    ['page', { path: listPath('epersons', { limit: 1 }), token }],
  ])
  assert.ok(answered.indexOf('page') < 6, answered.join())
})

testOn('sqlite', 'Q18 a page does not wait for those that look through many items', async t => {
  const service = await startService(t)
  await service.addEperson('root@example.org', { admin: true })
  const token = await service.client().login('root@example.org')
  await service.storage.repository.putItems(
    times(5_000, at => ({
      identifier: `a/${at}`,
      metadata: titled('T'.repeat(2_000)),
      collections: [],
      readers: everybody,
      bitstreams: [],
      fingerprint: '',
    })),
    commandEvent('item.add'),
    [],
  )
  const answered = await inOrder(service, [
    ...times(
      20,
      at => ['looked', { path: listPath('items', { query: ['~', 'title', `x${at}`], limit: 1 }) }] as const,
    ),
    ['page', { path: listPath('epersons', { limit: 1 }), token }],
  ])
  assert.ok(answered.indexOf('page') < 10, answered.join())
})
