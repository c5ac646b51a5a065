import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { commandEvent } from '../../../src/cli/store.ts'
import { bearerOf } from '../../support/clients/client.ts'
import { storeClient } from '../../support/clients/store-client.ts'
import { assertDone, emptyPlace } from '../../support/data/backups.ts'
import { engineIn, test } from '../../support/service/engines.ts'
import { carrel, repository } from '../../support/service/process.ts'
import { startService } from '../../support/service/service.ts'

/**
 * A backup, made with `carrel backup -`, of a store from the last version before the first release: two
 * epersons, a group in a group, an entity with a relation and with records that were written and deleted, an
 * item with a file and a policy for one eperson, metadata of the site, a field in the metadata registry, and
 * an alert.
 */
const before = gunzipSync(readFileSync(join(repository, 'test/admin/backup/before.tar.gz')))

test('D8 a backup of a store of before the first release restores into either engine, and all of it goes on', async t => {
  const place = emptyPlace(t, engineIn(t))
  assertDone(await carrel(place, ['restore', '-', '--keep-sessions'], { input: before }))
  const service = await startService(t, { dataFolder: place })
  const ruth = service.client()
  const login = await ruth.tryLogin('ruth@example.org', 'a reader of letters')
  assert.equal(login.status, 200)
  ruth.token = bearerOf(login)
  const text = async (path: string) => (await ruth.get(path)).text()
  const letters = '{"id":1,"title":"Erst","score":1.10},{"id":3,"title":"Dritt","score":null}'
  assert.equal(
    await text('/api/query/v4/letters?order_by=[{"field":"id"}]'),
    `[${letters},{"title":"Viert","score":4.50,"id":4}]`,
  )
  assert.match(await text('/api/query/v4/items'), /"identifier":"10673\/17","title":"A letter to Ruth"/)
  const files = JSON.parse(await text('/api/query/v4/bitstreams')) as readonly { readonly uuid: string }[]
  assert.equal(await text(`/api/core/bitstreams/${files[0]?.uuid}/content`), 'a scan\n')
  assert.match(await text('/api/core/sites'), /"dspace.cms.home-news":\[\{"value":"Hello"/)

  const { storage } = service
  assert.deepEqual(
    (await storage.alerts.all()).map(({ message }) => message),
    ['Closed on Monday'],
  )
  const all = await storage.entities.all()
  assert.deepEqual(all.get('letters')?.relations, [
    { fields: ['id'], to: { entity: 'open', fields: ['id'] } },
  ])
  assert.equal((await storage.registry.fields({ name: 'dc.shelf' }, { offset: 0, limit: 1 })).total, 1)
  const window = { offset: 0, limit: 9 }
  const groups = await storage.people.findGroups({ text: '', inside: null }, window, storeClient)
  const named = (name: string) => groups.rows.find(group => group.name === name)?.uuid ?? ''
  const inside = { group: named('Readers'), is: true }
  const children = await storage.people.findGroups({ text: '', inside }, window, storeClient)
  assert.deepEqual(
    children.rows.map(({ name }) => name),
    ['Curators'],
  )
  const item = (await storage.repository.uuidOf('10673/17')) ?? ''
  assert.ok((await storage.repository.policyNotes(item)).some(({ name }) => name === 'for Ruth'))

  // New records, stamps, events and chains continue the old ones.
  const written = await ruth.put('/api/query/v4/letters/5', JSON.stringify({ title: 'Fünft', score: 5 }), {
    'content-type': 'application/json',
  })
  assert.equal(written.status, 201)
  assert.equal(
    await storage.people.setEnabled('root@example.org', false, commandEvent('eperson.disable')),
    'changed',
  )
  assert.match(await text('/api/query/v4/letters?order_by=[{"field":"id"}]'), /"Fünft"/)
  await service.stop()
  assert.match(assertDone(await carrel(place, ['events', 'verify'])), /all as they were written/)
})
