import assert from 'node:assert/strict'
import { nobody } from '../../src/lib/fair-queue.ts'
import { type Condition, type FieldRef, listOf } from '../../src/model/plan.ts'
import {
  highlight,
  matchesText,
  readTextQuery,
  relevanceOf,
  searchable,
  textsIn,
} from '../../src/model/text-query.ts'
import { list } from '../support/clients/listings.ts'
import { test } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

const words = ['sea', 'Side', 'red', 'house', 'élan', 'elan', '東京', 'sea-side']

/** Numbered records, in which each field is sometimes missing. */
const records = Array.from({ length: 400 }, (_, id) => {
  const word = (n: number) => words[(id * n + (id >> 3)) % words.length] ?? ''
  return {
    id,
    title: id % 7 === 3 ? null : `${word(3)} ${word(5)} ${word(7)}`,
    note: id % 5 === 1 ? null : id % 11 === 0 ? 17 : `${word(2)}, ${word(9)}`,
    more: id % 3 === 0 ? null : { tags: [word(4), { deep: word(11) }], n: id, red: 'x' },
  }
})
type Stored = (typeof records)[number]

const ref = (name: string, type: FieldRef['type'], path: FieldRef['path'] = []): FieldRef => ({
  name,
  path,
  type,
})
const fields = {
  title: ref('title', 'text'),
  note: ref('note', 'json'),
  more: ref('more', 'json'),
  tags: ref('more', 'json', ['tags']),
}
type Name = keyof typeof fields

function textsOf({ title, note, more }: Stored, name: Name): string[] | undefined {
  if (name === 'title') return title === null ? undefined : [title]
  // Numbers make this a field of JSON, in which only texts count.
  if (name === 'note') return note === null ? undefined : textsIn(note)
  if (more === null) return undefined
  return textsIn(name === 'more' ? more : more.tags)
}

test('Q27 match lists the imported records that a look at each of them finds', async t => {
  const service = await startService(t)
  await service.addRecords('things', 'id', records)
  const things = (await service.storage.entities.all()).get('things')
  assert.ok(things)
  let found = 0
  for (const names of [
    ['title'],
    ['note'],
    ['more'],
    ['tags'],
    ['title', 'note'],
    ['title', 'more', 'note'],
  ] as Name[][])
    for (const search of [
      'sea',
      'sea side',
      '"sea side"',
      'ELAN',
      'hou*',
      '東京',
      '京東',
      '"red hous"*',
      '17',
      'x',
      'none',
      'sea none',
    ])
      for (const negated of [false, true]) {
        const where: Condition = {
          kind: 'text',
          fields: names.map(name => fields[name]),
          words: readTextQuery(search),
          negated,
        }
        const page = { order: [], offset: 0, limit: 1_000, total: true }
        const plan = { ...listOf(things, page), where }
        const { total, body } = await service.storage.entities.list(
          plan,
          { kind: 'administrator' },
          'json',
          nobody,
        )
        const pieces: Uint8Array[] = []
        if (body instanceof Uint8Array) pieces.push(body)
        else for await (const piece of body) pieces.push(piece)
        const expected = records.filter(one => {
          const texts = names.map(name => textsOf(one, name)).filter(list => list !== undefined)
          return texts.length > 0 && matchesText(texts.map(searchable), where.words) !== negated
        })
        const listed = JSON.parse(
          `[${pieces.map(piece => Buffer.from(piece).toString()).join(',')}]`,
        ) as Stored[]
        assert.deepEqual(
          listed.map(({ id }) => id),
          expected.map(({ id }) => id),
          `${names.join()} ${search} ${negated}`,
        )
        assert.equal(total, expected.length)
        if (!negated) found += expected.length
      }
  assert.ok(found > 2_000, `${found} were found`)
})

test('Q27 imported records are sorted by relevance, and show what was found', async t => {
  const service = await startService(t)
  await service.addRecords('things', 'id', records)
  const client = service.client()
  for (const [query, names, search] of [
    [
      'things[id, relevance(), highlight(title)] { title match "sea side" order by relevance desc, id limit 30 }',
      ['title'],
      'sea side',
    ],
    [
      'things[id, relevance(), highlight(title)] { [title, more] match "hou*" order by relevance desc limit 30 offset 5 }',
      ['more', 'title'],
      'hou*',
    ],
    [
      'things[id, relevance(), highlight(title)] { * match "elan" and id > 10 order by relevance, id desc }',
      ['title', 'note', 'more'],
      'elan',
    ],
  ] as const) {
    const words = readTextQuery(search)
    const found = records
      .map(one => {
        const fields = names.map(name => textsOf(one, name)).filter(list => list !== undefined)
        const texts = fields.map(searchable)
        return { id: one.id, one, isFound: matchesText(texts, words), relevance: relevanceOf(texts, words) }
      })
      .filter(({ id, isFound }) => isFound && (search !== 'elan' || id > 10))
    const sign = search === 'elan' ? -1 : 1
    const sorted = found.toSorted((a, b) => sign * (b.relevance - a.relevance || a.id - b.id))
    const [from, end] = search === 'hou*' ? [5, 35] : search === 'elan' ? [0, found.length] : [0, 30]
    const expected = sorted.slice(from, end).map(({ id, relevance, one }) => ({
      id,
      relevance,
      highlight: one.title === null ? null : highlight(one.title, words),
    }))
    assert.deepEqual(await list(client, '', { query }), expected, query)
    assert.ok(new Set(found.map(({ relevance }) => relevance)).size > 2, search)
  }
})
