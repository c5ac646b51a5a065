import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type CarrelProblem,
  createClient,
  type ExactJson,
  type Instant,
  type Json,
} from '../../packages/client/src/index.ts'

/**
 * A record type for queries that the compiler must accept or refuse; `npm run types` runs this test. A line
 * after `@ts-expect-error` without a type error is an error itself. Nothing is sent, because a query is sent
 * only when it is read.
 */
interface Artwork {
  readonly id: number
  readonly title: string
  readonly year: number | null
  readonly shown: boolean
  readonly acquired: Instant | null
  readonly metadata: Json
  readonly makers: readonly Json[]
}

interface Museum {
  readonly artworks: Artwork
  readonly artists: { readonly name: string; readonly born: number }
}

const museum = createClient<Museum>('http://localhost:1')
const artworks = museum.entity('artworks')

test('CL4 a condition takes the fields of the entity, and of each the operators and values of its type', () => {
  artworks.query({ where: ['=', 'year', 1813] })
  artworks.query({
    where: ['and', ['=', 'year', 1813], ['or', ['~', 'title', 'a'], ['not', ['=', 'id', 1]]]],
  })
  artworks.query({ where: ['<', 'acquired', '1998-01'] })
  artworks.query({ where: ['null?', 'acquired', true] })
  artworks.query({ where: ['in', 'year', ['array', [1813, 1814]]] })
  artworks.query({ where: ['in', 'title', ['from', 'artists', ['extract', 'name']]] })
  artworks.query({ where: ['match', ['title', 'metadata'], 'light'] })
  artworks.query({ where: ['match', '*', 'light'] })
  artworks.query({ where: ['=', 'metadata."dc.title"[0].value', 'Light'] })
  artworks.query({ where: ['subquery', 'artists', ['>', 'born', 1800]] })
  // @ts-expect-error there is no such field
  artworks.query({ where: ['=', 'yaer', 1813] })
  // @ts-expect-error a number is no text
  artworks.query({ where: ['=', 'year', '1813'] })
  // @ts-expect-error numbers match no expression
  artworks.query({ where: ['~', 'year', '18'] })
  // @ts-expect-error nor do date-times
  artworks.query({ where: ['~', 'acquired', '1998'] })
  // @ts-expect-error booleans have no order
  artworks.query({ where: ['<', 'shown', true] })
  // @ts-expect-error there is no such operator
  artworks.query({ where: ['!=', 'year', 1813] })
  // @ts-expect-error nor deep inside
  artworks.query({ where: ['not', ['and', ['=', 'id', 1], ['=', 'yaer', 1813]]] })
  // @ts-expect-error words are looked for in texts
  artworks.query({ where: ['match', ['year'], 'light'] })
  // @ts-expect-error there is no such entity
  museum.entity('artwork')
  assert.equal(artworks.name, 'artworks')
})

test('CL4 an order takes what has one', () => {
  artworks.query({ orderBy: ['title', ['year', 'desc']] })
  // @ts-expect-error there is no such field
  artworks.query({ orderBy: ['yaer'] })
  // @ts-expect-error JSON has no order
  artworks.query({ orderBy: ['metadata'] })
  // @ts-expect-error there is no such direction
  artworks.query({ orderBy: [['year', 'down']] })
})

test('CL4 a query gives the columns that it names, and whole records otherwise', () => {
  const ask = async () => {
    const whole: Artwork | undefined = await artworks.query().first()
    const some = await artworks.query({ select: ['title', 'year'] }).all()
    const first: { readonly title: string; readonly year: number | null } | undefined = some[0]
    // @ts-expect-error it was not asked for
    assert.ok(some[0]?.shown)
    const groups = artworks.query({
      select: ['year', ['function', 'count'], ['function', 'max', 'title']],
      groupBy: ['year'],
      having: ['>', 'count', 5],
      orderBy: [['count', 'desc'], 'year'],
    })
    for await (const { year, count, max } of groups) {
      const typed: readonly [number | null, number, string | null] = [year, count, max]
      assert.ok(typed)
    }
    // @ts-expect-error there is no such field
    artworks.query({ select: ['yaer'] })
    // @ts-expect-error it has no such column
    artworks.query({ select: ['year', ['function', 'count']], having: ['>', 'sum', 5] })
    // @ts-expect-error it adds up numbers
    artworks.query({ select: [['function', 'sum', 'title']] })
    assert.ok(whole && first)
  }
  assert.equal(typeof ask, 'function')
})

test('CL4 the routes that the service describes have types: what is in the path, the query and the body, and the answer', () => {
  const ask = async () => {
    const item = await museum.get('/api/core/items/{uuid}', { path: { uuid: 'a' } })
    const title: string | undefined = item.metadata['dc.title']?.[0]?.value
    const { authenticated }: { readonly authenticated: boolean } = await museum.get('/api/authn/status')
    for await (const { email } of museum.list('/api/eperson/epersons')) assert.ok(email)
    await museum.post('/api/authn/tokens', { json: { name: 'nightly', methods: ['GET'] } })
    // @ts-expect-error there is no such method
    await museum.post('/api/authn/tokens', { json: { name: 'nightly', methods: ['FETCH'] } })
    // @ts-expect-error it is called uuid
    await museum.get('/api/core/items/{uuid}', { path: { id: 'a' } })
    // @ts-expect-error it has to be said
    await museum.get('/api/core/items/{uuid}')
    // @ts-expect-error a status has no such member
    assert.ok((await museum.get('/api/authn/status')).loggedIn)
    const records = await museum.get('/api/query/v4/{entity}', { path: { entity: 'artworks' } })
    // @ts-expect-error it may also be what `explain` answers
    assert.ok(records.length)
    if ('length' in records) {
      const first: Json | undefined = records[0]?.title
      // @ts-expect-error a record of any entity may have anything in it
      const text: string | undefined = records[0]?.title
      assert.ok(first ?? text)
    }
    // @ts-expect-error JSON is asked for, and no text comes
    records.startsWith('id,')
    // A route that always refuses has the type never.
    const nothing: never = await museum.post('/api/core/collections')
    assert.ok(nothing)
    const other: unknown = await museum.get('/api/some/other/address', { query: { a: 1 } })
    const said = await museum.get<{ readonly a: number }>('/api/some/other/address')
    assert.ok(title && authenticated && other && said.a)
  }
  assert.equal(typeof ask, 'function')
})

test('CL4 buckets, lengths and other fields stand in conditions with the types that they have', () => {
  artworks.query({ where: ['=', ['function', 'bucket', 'year', 10], 1840] })
  artworks.query({ where: ['>=', ['function', 'bucket', 'acquired', 'month'], '1998-01-01T00:00:00.000Z'] })
  artworks.query({ where: ['null?', ['function', 'bucket', 'metadata.height', 0.5], false] })
  artworks.query({ where: ['not', ['in', ['function', 'length', 'makers'], ['array', [0, 1]]]] })
  artworks.query({ where: ['~', 'makers[*].name', '^T'] })
  artworks.query({ where: ['>', ['field', 'year'], ['field', 'id']] })
  artworks.query({ where: ['and', ['=', 'id', 1], ['<', ['field', 'metadata.height'], ['field', 'id']]] })
  artworks.query({ where: ['=', ['field', 'title'], ['field', 'metadata.title']] })
  artworks.query({ where: ['<=', ['field', 'acquired'], ['function', 'bucket', 'acquired', 'year']] })
  // @ts-expect-error numbers have widths
  artworks.query({ where: ['=', ['function', 'bucket', 'year', 'month'], 1840] })
  // @ts-expect-error times have units
  artworks.query({ where: ['=', ['function', 'bucket', 'acquired', 10], '1998'] })
  // @ts-expect-error there is no such unit
  artworks.query({ where: ['=', ['function', 'bucket', 'acquired', 'decade'], '1998'] })
  // @ts-expect-error texts are put into no buckets
  artworks.query({ where: ['=', ['function', 'bucket', 'title', 10], 1840] })
  // @ts-expect-error a number is no list
  artworks.query({ where: ['=', ['function', 'length', 'year'], 1] })
  // @ts-expect-error a length is a number
  artworks.query({ where: ['=', ['function', 'length', 'makers'], '1'] })
  // @ts-expect-error a text and a number are never equal
  artworks.query({ where: ['=', ['field', 'title'], ['field', 'year']] })
  // @ts-expect-error booleans have no order
  artworks.query({ where: ['<', ['field', 'shown'], ['field', 'shown']] })
  // @ts-expect-error there is no such field
  artworks.query({ where: ['>', ['field', 'yaer'], ['field', 'id']] })
  // @ts-expect-error a group has no fields besides its columns
  artworks.query({ select: ['year'], having: ['>', ['field', 'year'], ['field', 'year']] })
  artworks.query({ sample: { size: 100 } })
  artworks.query({ where: ['=', 'shown', true], sample: { size: 100, seed: 7 }, limit: 10 })
  // @ts-expect-error a sample has a size
  artworks.query({ sample: { seed: 7 } })
  const any = createClient('http://localhost:1').entity('any')
  any.query({ where: ['>', ['function', 'bucket', 'a', 10], 5], sample: { size: 5 } })
  any.query({ where: ['<', ['field', 'a'], ['field', 'b.c']] })
  any.query({
    select: [
      ['function', 'bucket', 'a', 'month'],
      ['function', 'median', 'b'],
    ],
  })
  assert.equal(any.name, 'any')
})

test('CL4 columns of buckets, lengths, medians and all elements of a list have their names and types', () => {
  const ask = async () => {
    const decades = artworks.query({
      select: [
        ['function', 'bucket', 'year', 10],
        ['function', 'count'],
        ['function', 'median', 'id'],
      ],
      groupBy: [['function', 'bucket', 'year', 10]],
      having: ['>', 'count', 5],
      orderBy: [['year', 'desc']],
      withEmpty: true,
    })
    for await (const { year, count, median } of decades) {
      const typed: readonly [number | null, number, number | null] = [year, count, median]
      // @ts-expect-error there may be none
      const lossy: readonly [number, number | null] = [year, median]
      assert.ok(typed && lossy)
    }
    const [month] = await artworks
      .query({
        select: [
          ['function', 'bucket', 'acquired', 'month'],
          ['function', 'percentile', 'year', 90],
        ],
        groupBy: [['function', 'bucket', 'acquired', 'month']],
      })
      .all()
    const typed: readonly [string | null, number | null] | undefined = month && [
      month.acquired,
      month.percentile,
    ]
    // @ts-expect-error the column has the name of the field
    assert.ok(month?.bucket)
    const [one] = await artworks
      .query({ select: ['makers[*].name', ['function', 'length', 'makers'], 'title'] })
      .all()
    const names: readonly Json[] | null | undefined = one?.['makers[*].name']
    const length: number | null | undefined = one?.length
    const title: string | undefined = one?.title
    // @ts-expect-error a percentile has a number
    artworks.query({ select: [['function', 'percentile', 'year']] })
    // @ts-expect-error it is made of numbers
    artworks.query({ select: [['function', 'median', 'title']] })
    // @ts-expect-error texts are put into no buckets
    artworks.query({ select: [['function', 'bucket', 'title', 10]] })
    // @ts-expect-error times have units
    artworks.query({ select: [['function', 'bucket', 'acquired', 10]] })
    return [typed, names, length, title]
  }
  assert.equal(typeof ask, 'function')
})

test('CL6 the code of a problem is one of those that there are', () => {
  const isLate = ({ code }: CarrelProblem) => code === 'precondition-failed' || code === 'session-over'
  // @ts-expect-error there is no such code
  const isNever = ({ code }: CarrelProblem) => code === 'precondition-faild'
  assert.equal(typeof isLate, typeof isNever)
})

test('CL14 types say that integers may be BigInt where they are read so, and nowhere else', () => {
  interface Sky {
    readonly stars: {
      readonly id: number | bigint
      readonly name: string
      readonly notes: ExactJson
    }
  }
  const sky = createClient<Sky>('http://localhost:1', { bigint: true }).entity('stars')
  sky.query({ where: ['and', ['=', 'id', 1n], ['<', 'id', 2]], orderBy: ['id'] })
  sky.query({ where: ['in', 'id', ['array', [1n, 2]]] })
  sky.query({ where: ['=', 'notes.seen[0]', 1n] })
  // @ts-expect-error a text is no number
  sky.query({ where: ['=', 'id', '1'] })
  // @ts-expect-error numbers match no expression
  sky.query({ where: ['~', 'id', '1'] })
  // @ts-expect-error this entity has no such integers
  artworks.query({ where: ['=', 'id', 1n] })
  const ask = async () => {
    const [sum] = await sky.query({ select: [['function', 'sum', 'id']] }).all()
    const exact: number | bigint | null | undefined = sum?.sum
    // @ts-expect-error it may be a BigInt
    const lossy: number | null | undefined = sum?.sum
    const [plain] = await artworks.query({ select: [['function', 'sum', 'id']] }).all()
    const number: number | null | undefined = plain?.sum
    const any = createClient('http://localhost:1', { bigint: true })
    const value: ExactJson | undefined = (await any.entity('any').query().first())?.any
    // @ts-expect-error it may be a BigInt
    const json: Json | undefined = (await any.pql('any {}').first())?.any
    const usual: Json | undefined = (await createClient('').pql('any {}').first())?.any
    return [exact, lossy, number, value, json, usual]
  }
  assert.equal(typeof ask, 'function')
})
