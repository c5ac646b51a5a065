import assert from 'node:assert/strict'
import type { Client } from '../clients/client.ts'

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
