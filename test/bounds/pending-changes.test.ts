import assert from 'node:assert/strict'
import { Lagging } from '../../src/lib/errors.ts'
import type { RecordEntity } from '../../src/storage/entities.ts'
import { recordPath, startWithArtworks } from '../support/data/record-writes.ts'
import { test } from '../support/service/engines.ts'
import { until } from '../support/service/waiting.ts'

/** Maximum number of records that a step changes (R10), half of the changes that may wait. */
const count = 10_000
const elsewhere = JSON.stringify(['another machine', 1, null])

test('R9 changes that nobody folds wait up to a bound, and are folded by this node when another has lost the lease', async t => {
  const records = Array.from({ length: count }, (_, id) => ({ id, title: 'new' }))
  const { service, client } = await startWithArtworks(t, records)
  const { entities, identities, clock } = service.storage
  const artworks = async () => (await entities.all()).get('artworks') as RecordEntity
  assert.equal(await identities.keepTicket('fold artworks', elsewhere, clock.now() + 1e9, 0), true)
  for (const title of ['once', 'twice']) {
    entities.requireRoom(await artworks())
    const query = encodeURIComponent('[">=", "id", 0]')
    const response = await client.request(`/api/query/v4/artworks?query=${query}`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ title }),
    })
    assert.equal(response.status, 200, await response.text())
  }
  const full = await artworks()
  assert.throws(() => entities.requireRoom(full), Lagging)

  await identities.replaceTicket('fold artworks', elsewhere, elsewhere, clock.now() - 1)
  await until(
    'a write that is acknowledged',
    async () => {
      const response = await client.request(recordPath('artworks', 1), {
        method: 'PUT',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ id: 1, title: 'last' }),
      })
      assert.ok([200, 503].includes(response.status), await response.text())
      return response.status
    },
    status => status === 200,
  )
  assert.notEqual((await artworks()).source.version.split('+')[0], full.source.version.split('+')[0])
})
