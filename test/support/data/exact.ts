import assert from 'node:assert/strict'
import { parseExact } from '../../../src/lib/json.ts'
import { administrator } from '../clients/administrator.ts'
import type { Service } from '../service/service.ts'

/** Integers that a JavaScript number would round, as NDJSON. */
export const stars =
  '{"id":9007199254740993,"name":"Vega","parent":null,"distance":-9223372036854775807,"notes":{"seen":[123456789012345678,7]}}\n' +
  '{"id":9007199254740995,"name":"Deneb","parent":9007199254740993,"distance":1,"notes":{"seen":[1e3,0.5]}}\n'

const planets = '{"id":9007199254740997,"star":9007199254740993}\n{"id":2,"star":9007199254740992}\n'

/**
 * Adds the entities `stars`, which every logged-in eperson may write, and `planets`, which are related to
 * them.
 */
export async function addStars(service: Service, email = 'importer@example.org'): Promise<void> {
  const admin = await administrator(service, email)
  for (const [name, lines] of [
    ['stars', stars],
    ['planets', planets],
  ] as const) {
    const records = lines
      .trim()
      .split('\n')
      .map(line => parseExact(line) as object)
    await service.addRecords(name, 'id', records)
  }
  const relations = [{ fields: ['star'], to: { entity: 'stars', fields: ['id'] } }]
  for (const [name, change] of [
    ['stars', { write: 'eperson' }],
    ['planets', { relations }],
  ] as const) {
    const changed = await admin.send('PATCH', `/${name}`, change)
    assert.equal(changed.status, 200, JSON.stringify(changed.body))
  }
}
