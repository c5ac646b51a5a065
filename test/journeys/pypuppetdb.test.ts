import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { addPuppetEntities } from '../support/data/puppet.ts'
import { engines } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

interface Recorded {
  readonly method: string
  readonly path: string
  readonly body?: string
  /** The number of records; undefined if the answer is not a list. */
  readonly count?: number
}

/**
 * The requests of pypuppetdb 2.2.0 in `test/products/pypuppetdb.test.ts`, with the numbers of records in the
 * answers.
 */
const requests = JSON.parse(
  readFileSync(new URL('../support/data/pypuppetdb-requests.json', import.meta.url), 'utf8'),
) as readonly Recorded[]

/** Headers of its session. Without a user and a password, it sends these words. */
const headers = {
  'user-agent': 'python-requests/2.28.1',
  'accept-encoding': 'gzip, deflate',
  accept: 'application/json',
  'content-type': 'application/json',
  'accept-charset': 'utf-8',
  authorization: `Basic ${Buffer.from('None:None').toString('base64')}`,
}

for (const engine of engines)
  describe(`pypuppetdb on ${engine}`, () => {
    test('Q14 Q15 Q16 Q24 what the Python client sends is answered', async t => {
      const service = await startService(t, { engine, env: { CARREL_QUERY_BASE: '/pdb/query/v4' } })
      await addPuppetEntities(service)
      for (const { method, path, body, count } of requests) {
        const answer = await fetch(service.address + path, { method, headers, ...(body && { body }) })
        const text = await answer.text()
        assert.equal(answer.status, 200, `${path}: ${text}`)
        const given: unknown = JSON.parse(text)
        assert.equal(Array.isArray(given) ? given.length : undefined, count, path)
      }
    })
  })
