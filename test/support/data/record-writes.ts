import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import type { Client } from '../clients/client.ts'
import { startService } from '../service/service.ts'
import { ruthEmail } from './ruth.ts'

/** Starts a service with artworks that curators may write, and logs in Ruth, who is one. */
export async function startWithArtworks(t: TestContext, records: readonly object[]) {
  const service = await startService(t)
  await service.addEperson('reader@example.org')
  await service.addEperson('admin@example.org', { admin: true })
  const client = await service.addLoggedIn(ruthEmail, { groups: ['curators'] })
  await service.addRecords('artworks', 'id', records)
  await service.storage.entities.changeWriteRule('artworks', 'group:curators', commandEvent('entity.writers'))
  return { service, client }
}

/** Returns the path at which clients write a single record (R1). */
export const recordPath = (entity: string, key: number | string): string =>
  `/api/query/v4/${entity}/${encodeURIComponent(key)}`

export async function putRecord(
  client: Client,
  entity: string,
  key: number | string,
  record: object,
): Promise<void> {
  const response = await client.request(recordPath(entity, key), {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(record),
  })
  assert.ok(response.status === 200 || response.status === 201, await response.text())
}

export async function deleteRecord(client: Client, entity: string, key: number | string): Promise<void> {
  const response = await client.request(recordPath(entity, key), { method: 'DELETE' })
  assert.equal(response.status, 204, await response.text())
}
