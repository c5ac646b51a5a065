import assert from 'node:assert/strict'
import fc from 'fast-check'
import pg from 'pg'
import { neighbours } from '../../support/data/arbitrary-records.ts'
import { compareJson } from '../../support/data/oracle.ts'
import { readJson } from '../../support/data/raw-json.ts'
import { runs } from '../../support/scale.ts'
import { createDatabase } from '../../support/service/databases.ts'
import { testOn } from '../../support/service/engines.ts'

testOn(
  'postgres',
  'Q6 PostgreSQL itself sorts jsonb in the order of values of several kinds, but for empty arrays',
  async t => {
    const client = new pg.Client({ connectionString: await createDatabase(t) })
    await client.connect()
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(fc.jsonValue({ maxDepth: 3 }), { maxLength: 30 }), async more => {
          const values = [
            ...neighbours,
            '"a"',
            '"B"',
            '"10"',
            '2',
            '10',
            '-1',
            'false',
            'true',
            'null',
            ...more.map(one => JSON.stringify(one)),
          ]
            // jsonb can't hold NUL or unpaired surrogates.
            .filter(json => !/\\u(0000|d[89a-f])/i.test(json))
            // PostgreSQL sorts an empty array that is a whole value before everything else, even null.
            .filter(json => json !== '[]')
          const { rows } = await client.query<{ value: string }>(
            'SELECT value FROM unnest($1::text[]) WITH ORDINALITY AS one (value, n) ORDER BY value::jsonb, n',
            [values],
          )
          assert.deepEqual(
            rows.map(({ value }) => value),
            values.toSorted((one, other) => compareJson(readJson(one), readJson(other))),
          )
        }),
        runs(30, 300),
      )
    } finally {
      await client.end()
    }
  },
)
