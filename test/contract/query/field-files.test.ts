import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandEvent } from '../../../src/cli/store.ts'
import type { RecordEntity } from '../../../src/storage/entities.ts'
import { fold } from '../../../src/storage/records/folding.ts'
import { bodyOf, listPath, queryPath } from '../../support/clients/listings.ts'
import { metricsOf, scraper } from '../../support/clients/metrics.ts'
import { changeText, importText } from '../../support/data/imports.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

/** Number of records, more than a rank of two bytes can tell apart. */
const count = 70_000
const kinds = ['a', 'b', 'c', 'd']

/** Cents of a record's price; null for one in fifty. */
const centsOf = (n: number): bigint | null =>
  n % 50 === 7 ? null : BigInt((n * 7_919) % 1_000_003) - 300_000n

const priceOf = (cents: bigint): string => {
  const digits = String(cents < 0n ? -cents : cents).padStart(3, '0')
  return `${cents < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** Records whose prices always have two decimals, also where JavaScript would print fewer. */
const works = Array.from({ length: count }, (_, n) => {
  const cents = centsOf(n)
  const price = cents === null ? 'null' : priceOf(cents)
  return `{"id":${n},"kind":"${kinds[n % 4]}","title":"Work ${n} of the sea","price":${price}}\n`
}).join('')

const pql = (service: Service, query: string) =>
  bodyOf(service, `${queryPath}?query=${encodeURIComponent(query)}`)

/** Asks one question after another, because those that wait for a thread on a slow machine end with 503. */
async function oneByOne(service: Service, queries: readonly string[]): Promise<string[]> {
  const bodies: string[] = []
  for (const query of queries) bodies.push(await pql(service, query))
  return bodies
}

const questions = [
  'works[kind, sum(price), avg(price), min(price), max(price), count(price), count_distinct(price)] { group by kind order by kind }',
  'works[kind, sum(price)] { price > 0 group by kind order by kind }',
  'works[id, price] { price > 6999 order by price desc, id limit 20 }',
  'works[count()] { title ~ "^Work 6999\\\\d of" }',
  'works[id] { title match "work 69999" }',
  'works[price] { id = 123 }',
]

const answers = (service: Service) => oneByOne(service, questions)

test('Q22 sums of 70,000 different numbers are exact, and their extremes are shown as the file writes them', async t => {
  const service = await startService(t)
  await importText(service, works, { entity: 'works', key: 'id' })
  const [groups = ''] = await answers(service)
  const expected = kinds.map((kind, at) => {
    const cents = Array.from({ length: count / 4 }, (_, n) => centsOf(4 * n + at)).filter(one => one !== null)
    const sum = cents.reduce((total, one) => total + one, 0n)
    const [least, most] = cents.reduce(
      ([low, high], one) => [one < low ? one : low, one > high ? one : high],
      [cents[0] as bigint, cents[0] as bigint],
    )
    const total = Number(priceOf(sum))
    return (
      `{"kind":"${kind}","sum":${total},"avg":${total / cents.length},"min":${priceOf(least)},"max":${priceOf(most)},` +
      `"count":${cents.length},"count_distinct":${new Set(cents).size}}`
    )
  })
  assert.equal(groups, `[${expected.join()}]`)
})

/** Each damages the file of a field. */
const damages: Readonly<Record<string, (path: string, other: string) => void>> = {
  'is missing': path => rmSync(path),
  'is cut short': path => truncateSync(path, readFileSync(path).length - 8),
  'was written over by zeros': path => writeFileSync(path, Buffer.alloc(readFileSync(path).length)),
  'is the file of another field': (path, other) => writeFileSync(path, readFileSync(other)),
}

testOn(
  'sqlite',
  'Q20 a file with what is known of a field is not used if it is damaged, and is made again',
  async t => {
    const first = await startService(t)
    await importText(first, works, { entity: 'works', key: 'id' })
    const expected = await answers(first)
    await first.stop()
    const [version = ''] = readdirSync(join(first.dataFolder, 'fields'))
    const folder = join(first.dataFolder, 'fields', version)
    const names = readdirSync(folder).toSorted()
    assert.deepEqual(names, ['0', '1', '1.words', '2', '2.words', '3'])
    for (const damage of Object.values(damages)) {
      const there = readdirSync(folder)
      for (const [at, name] of there.entries())
        damage(join(folder, name), join(folder, there.at(at - 1) as string))
      const service = await startService(t, { dataFolder: first.dataFolder })
      assert.deepEqual(await answers(service), expected)
      // Whatever has been asked about has its file again, in the background.
      await until('the files of fields that were asked about', () =>
        ['1', '2', '3'].every(name => readFileSync(join(folder, name)).length > 100_000),
      )
      assert.deepEqual(await answers(service), expected)
      await service.stop()
    }
  },
)

testOn(
  'sqlite',
  'Q20 an import writes files of instants in several forms, unless it writes one instant in two',
  async t => {
    const service = await startService(t)
    /** The instant `n` half seconds after the first one, written in UTC or an hour ahead of it. */
    const written = (n: number, isAhead = n % 3 === 0) => {
      const text = new Date(Date.UTC(2024, 4, 1, isAhead ? 11 : 10) + 500 * n).toISOString()
      return text.replace(/\.(?:000|(5)00)Z/, (_, half) => (half ? '.5' : '')) + (isAhead ? '+01:00' : 'Z')
    }
    const all = Array.from({ length: 12_000 }, (_, n) => (n * 7) % 12_000)
    const lines = all.map((n, id) => {
      const twice = id === 6_000 ? written(all[0] ?? 0, false) : written(n)
      return `${JSON.stringify({ id, once: n === 5 ? null : written(n), twice })}\n`
    })
    await importText(service, lines.join(''), { entity: 'logs', key: 'id' })
    const [version = ''] = readdirSync(join(service.dataFolder, 'fields'))
    assert.deepEqual(readdirSync(join(service.dataFolder, 'fields', version)).toSorted(), ['0', '1'])
    assert.deepEqual(
      await oneByOne(service, [
        'logs[min(once), max(once), count(once)] {}',
        'logs[once, count()] { group by once order by once limit 7 }',
        'logs[twice, count()] { group by twice order by count desc, twice limit 2 }',
        `logs[count()] { once > "${written(11_000, false)}" }`,
      ]),
      [
        `[{"min":"${written(0)}","max":"${written(11_999)}","count":11999}]`,
        `[${[0, 1, 2, 3, 4, 6, 7].map(n => `{"once":"${written(n)}","count":1}`)}]`,
        `[{"twice":"${written(0)}","count":2},{"twice":"${written(1)}","count":1}]`,
        '[{"count":999}]',
      ],
    )
  },
)

testOn('postgres', 'Q20 a node on PostgreSQL keeps what it knows of fields on its own disk', async t => {
  const service = await startService(t)
  await importText(service, works, { entity: 'works', key: 'id' })
  const expected = await answers(service)
  const folder = () => {
    const [version = ''] = readdirSync(join(service.dataFolder, 'fields'))
    return join(service.dataFolder, 'fields', version)
  }
  await until('the file of the prices', () => readdirSync(folder()).includes('3'))
  await service.stop()
  const again = await startService(t, { dataFolder: service.dataFolder })
  assert.deepEqual(await answers(again), expected)
  assert.match(await bodyOf(again, listPath('works', { limit: 1 })), /"id":0/)
})

/** Questions about all fields whose answers show no whole records. */
const counts = [
  'works[kind, count(), sum(price), min(price), max(title)] { group by kind order by kind }',
  'works[count()] { price > 0 and title ~ "^Work [135]" }',
  'works[count()] { title match "work written" }',
  'works[count(), count_distinct(title), max(id)] { id > 100 and kind = "b" }',
]

test('R1 Q20 Q22 Q27 after a write, and after its changes are folded, nothing that grows with the records is made in memory', async t => {
  const service = await startService(t, { env: scraper.env })
  await service.addEperson('admin@example.org', { admin: true })
  await importText(service, works, { entity: 'works', key: 'id' })
  await service.storage.entities.changeWriteRule('works', 'eperson', commandEvent('entity.writers'))
  const client = await service.loggedIn('admin@example.org')
  const ask = () => oneByOne(service, counts)
  await ask()
  const [version = ''] = readdirSync(join(service.dataFolder, 'fields'))
  // A file that was missing is looked for again after a second.
  await until('the files of all fields', () =>
    ['0', '1', '2', '3'].every(name => {
      const file = statSync(join(service.dataFolder, 'fields', version, name), { throwIfNoEntry: false })
      return file !== undefined && Date.now() - file.mtimeMs > 1_500
    }),
  )
  const put = async (id: number, record: object) => {
    const response = await client.request(`${queryPath}/works/${id}`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ id, ...record }),
    })
    assert.ok(response.status < 300, await response.text())
  }
  /** Returns the answers of a new import of the same records. */
  const ofImport = async () => {
    const fresh = await startService(t)
    const rows = await client.get(`${queryPath}/works`, { accept: 'application/x-ndjson' })
    await importText(fresh, await rows.text(), { entity: 'works', key: 'id' })
    const found = await oneByOne(fresh, counts)
    await fresh.stop()
    return found
  }
  /** Checks that a new version had its files before it was shown, and that answers need nothing else. */
  const assertMade = async (known: ReadonlySet<string>) => {
    const made = readdirSync(join(service.dataFolder, 'fields')).filter(name => !known.has(name))
    assert.equal(made.length, 1)
    const wanted = ['0', '1', '2', '2.words', '3']
    const files = readdirSync(join(service.dataFolder, 'fields', made[0] ?? ''))
    assert.deepEqual(
      files.toSorted().filter(name => wanted.includes(name)),
      wanted,
    )
    const atFirst = await kept()
    const found = await ask()
    const more = (await kept()) - atFirst
    // The slots of a revision take four bytes for each record, and so would each column.
    assert.ok(more < 6 * count, `${more} bytes are kept of ${count} records`)
    assert.deepEqual(found, await ofImport())
  }
  const kept = async () => (await metricsOf(service.address)).of('carrel_cache_bytes') ?? 0

  for (const round of [1, 2, 3]) {
    // Replaces the first record of a kind, adds one that is the first of all, and one with a new value.
    await put(round * 4 + 1, { kind: 'a', title: `Written work ${round}`, price: 70_000 + round })
    await put(-round, { kind: 'b', title: 'Work 9 of the sea', price: null })
    await put(count + round, { kind: 'between b and c', title: `Work ${count + round}`, price: 0.125 })
    const before = await kept()
    const found = await ask()
    assert.deepEqual(await ask(), found)
    const more = (await kept()) - before
    // A column takes four bytes for each record.
    assert.ok(more < 2 * count, `${more} bytes are kept of ${count} records`)
    assert.equal(found[2], `[{"count":${round}}]`)
    assert.deepEqual(await ofImport(), found)
    if (round < 2) continue

    const folders = () => new Set(readdirSync(join(service.dataFolder, 'fields')))
    const beforeFold = folders()
    const { entities } = service.storage
    assert.equal(await fold((await entities.all()).get('works') as RecordEntity, entities), true)
    await assertMade(beforeFold)
    const beforeUpdate = folders()
    await changeText(service, `{"id":${count + 9},"kind":"a","title":"Work","price":${round}.5}`, {
      entity: 'works',
      kind: 'update',
    })
    await assertMade(beforeUpdate)
  }
})
