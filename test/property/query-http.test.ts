import assert from 'node:assert/strict'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { queryPath } from '../support/clients/listings.ts'
import { createQueries } from '../support/data/hostile-queries.ts'
import { addItem, anyEperson, everybody } from '../support/data/repository.ts'
import { runs } from '../support/scale.ts'
import { atEnd } from '../support/service/at-end.ts'
import { runSql } from '../support/service/databases.ts'
import { databaseOf, test } from '../support/service/engines.ts'
import { dropReader, exposeIn } from '../support/service/exposed-tables.ts'
import { type Service, startService } from '../support/service/service.ts'

/** Texts that must not appear in answers: SQL, the engine's messages, and files of the service. */
const engineWords =
  /SQLITE|sqlite|PostgreSQL: |syntax error|no such (column|table|function)|relation "|json_each|carrel_\w+\(|\$\d+::|SELECT .* FROM|\.ts:\d/

/** Maximum length of a problem, which must not repeat long texts. */
const maxProblem = 20_000

type Question = ReturnType<ReturnType<typeof createQueries>>

interface Answer {
  readonly status: number
  readonly body: string
}

test('Q14 Q7 whatever is asked, in any form: no 5xx, no words of the engine, and the connection stays', async t => {
  const service = await withThings(t)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  atEnd(t, () => agent.destroy())
  await service.addEperson('root@example.org', { admin: true })
  const token = await service.client().login('root@example.org')
  const ask = ({ method, path, headers, body }: Question, own: Readonly<Record<string, string>>) =>
    new Promise<Answer>((resolve, reject) => {
      const all = { ...headers, ...own, 'content-length': Buffer.byteLength(body) }
      request(`${service.address}${queryPath}${path}`, { agent, method, headers: all }, async response => {
        resolve({ status: response.statusCode ?? 0, body: await text(response) })
      })
        .on('error', reject)
        .end(body)
    })
  const entities = [...(await service.storage.entities.all()).values()]
  const { numRuns, seed = Date.now() } = runs(200, 20_000)
  t.diagnostic(`CARREL_TEST_SEED=${seed}`)
  const next = createQueries(seed, entities)
  const answered = new Map<number, number>()
  for (let n = 0; n < numRuns; n++) {
    const question = next()
    const own = n % 5 !== 0 ? { authorization: `Bearer ${token}` } : {}
    const { status, body } = await ask(question, own)
    answered.set(status, (answered.get(status) ?? 0) + 1)
    const asked = `${n}: ${JSON.stringify(question)}`
    assert.ok(status < 500 || /"(query-timeout|busy)"/.test(body), `${status} ${body} for ${asked}`)
    if (status < 400) continue
    assert.doesNotMatch(body, engineWords, asked)
    assert.ok(body.length < maxProblem, asked)
  }
  t.diagnostic(JSON.stringify([...answered]))
  assert.ok((answered.get(200) ?? 0) > 20, JSON.stringify([...answered]))
  assert.ok((answered.get(400) ?? 0) > 20)
})

async function withThings(t: TestContext): Promise<Service> {
  // Roles belong to the server, and remain when the database is dropped.
  let database = ''
  atEnd(t, () => dropReader(database))
  const service = await startService(t)
  const values = [
    null,
    0,
    -1,
    1.5,
    'a',
    'é',
    'x y',
    true,
    [],
    [1, 'a', null],
    { a: { b: [1, { c: 2 }] } },
    { 'x.y': 1 },
  ]
  const things = Array.from({ length: 40 }, (_, n) => ({
    id: n,
    name: `thing ${n % 7}`,
    at: n % 5 === 0 ? null : `2026-01-${String(1 + (n % 28)).padStart(2, '0')}T04:19:47Z`,
    size: n % 3 === 0 ? null : n / 4,
    is_old: n % 2 === 0,
    facts: values[n % values.length],
    list: n % 4 === 0 ? null : [n, `thing ${n % 7}`, null],
  }))
  await service.addRecords('things', 'id', things)
  await service.addRecords(
    'parts',
    ['thing', 'no'],
    things.map(({ id, name }) => ({ thing: id % 9, no: id, name, 'dc.title': name, value: values[id % 5] })),
  )
  for (let n = 0; n < 12; n++)
    await addItem(service, {
      identifier: `item ${n}`,
      metadata: {
        'dc.title': [{ value: `Sea ${n}`, language: null }],
        'dc.date': [{ value: '2026', language: 'en' }],
      },
      collections: n % 2 === 0 ? ['a'] : ['a', 'b'],
      readers: n % 3 === 0 ? anyEperson : everybody,
      files: [{ name: `file ${n}.txt` }],
    })
  const url = await databaseOf(service.dataFolder)
  if (url !== undefined) {
    database = new URL(url).pathname.slice(1)
    await runSql(url, table)
    await exposeIn(service, 'everything')
  }
  return service
}

const table = `
  CREATE TABLE everything (id integer PRIMARY KEY, small smallint, large bigint, exact numeric, near double precision,
    word text, fixed char(5), sorted text COLLATE "en-x-icu", day date, at timestamptz, local timestamp, yes boolean,
    j json, b jsonb, list text[], who uuid, span interval, net inet, price money, bits bytea);
  INSERT INTO everything SELECT n, n % 7, 9223372036854775807 - n, n / 3.0, CASE n WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity'
    ELSE n / 7.0 END, 'word ' || n % 5, 'x', chr(65 + n) || 'É', date '2026-01-01' + n, now(), now(), n % 2 = 0,
    json_build_object('a', n, 'x.y', ARRAY[n, 1]), to_jsonb(ARRAY[n::text, 'a']), ARRAY['a', n::text], gen_random_uuid(),
    make_interval(n), '10.0.0.1', 1.5, '\\x00ff' FROM generate_series(1, 30) AS n;
  INSERT INTO everything (id) VALUES (99)`
