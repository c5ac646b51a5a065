import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Entity, Page } from '../../src/model/entities.ts'
import { listOf } from '../../src/model/plan.ts'
import { askedParameters, linkHeader } from '../../src/query/present.ts'

const address = 'https://repo.example.edu/api/query/v4/things'
const entity = {} as Entity
const page = (limit: number | null, offset: number, total = false): Page => ({
  order: [],
  limit,
  offset,
  total,
})
/** Returns if there are more rows, as a store that knows the total does. */
const moreThan = ({ limit, offset }: Page, total: number | undefined) =>
  total === undefined || limit === null ? undefined : offset + limit < total
const links = (one: Page, total: number | undefined) =>
  linkHeader(one, { total, more: moreThan(one, total) }, address, '')
    ?.split(', ')
    .map(link => link.replace(`<${address}?`, '').replace('&include_total=true', ''))

test('Q9 without a limit there are no links', () => {
  assert.equal(links(page(null, 0), 100), undefined)
  assert.equal(links(page(null, 7, true), 100), undefined)
})

test('Q9 there is a next page only where there are records', () => {
  assert.deepEqual(links(page(10, 0), 10), ['limit=10&offset=0>; rel="first"'])
  assert.deepEqual(links(page(10, 0), 11), [
    'limit=10&offset=0>; rel="first"',
    'limit=10&offset=10>; rel="next"',
  ])
  assert.deepEqual(links(page(10, 0), 0), ['limit=10&offset=0>; rel="first"'])
  assert.deepEqual(links(page(Number.MAX_SAFE_INTEGER, 0), 10), [
    'limit=9007199254740991&offset=0>; rel="first"',
  ])
})

test('Q9 the previous page never begins before the first', () => {
  assert.deepEqual(links(page(10, 4), 5), [
    'limit=10&offset=0>; rel="first"',
    'limit=10&offset=0>; rel="prev"',
  ])
  assert.deepEqual(links(page(10, 25), 26)?.[1], 'limit=10&offset=15>; rel="prev"')
})

test('Q9 the last page is in steps of this size from where the client is', () => {
  const last = (limit: number, offset: number, total: number) =>
    links(page(limit, offset, true), total)?.find(link => link.endsWith('rel="last"'))
  assert.equal(last(10, 0, 100), 'limit=10&offset=90>; rel="last"')
  assert.equal(last(10, 0, 101), 'limit=10&offset=100>; rel="last"')
  assert.equal(last(10, 3, 100), 'limit=10&offset=93>; rel="last"')
  assert.equal(last(10, 0, 1), 'limit=10&offset=0>; rel="last"')
  assert.equal(last(10, 0, 0), 'limit=10&offset=0>; rel="last"')
  assert.equal(
    links(page(10, 0), 100)?.find(link => link.endsWith('rel="last"')),
    undefined,
  )
})

test('Q9 links repeat the query, the order and whether the total was asked for', () => {
  const order = [
    { field: 'a "b"&c', descending: true },
    { field: 'ä', descending: false },
  ]
  const query = '["=","ä","&"]'
  const asked = askedParameters(
    { query, order: undefined, pretty: true },
    { page: { order }, shape: listOf(entity, page(1, 0)).shape },
  )
  const header = linkHeader(page(1, 0, true), { total: 1, more: false }, address, asked) ?? ''
  const url = new URL(/<([^>]+)>/.exec(header)?.[1] ?? '')
  assert.deepEqual(JSON.parse(url.searchParams.get('order_by') ?? ''), [
    { field: 'a "b"&c', order: 'desc' },
    { field: 'ä' },
  ])
  assert.equal(url.searchParams.get('query'), query)
  assert.equal(url.searchParams.get('pretty'), 'true')
  assert.equal(url.searchParams.get('include_total'), 'true')
})

test('Q9 a query that is too long for an address has no links', () => {
  const { shape } = listOf(entity, page(1, 0))
  const query = 'x'.repeat(3_001)
  const asked = askedParameters({ query, order: undefined, pretty: false }, { page: { order: [] }, shape })
  assert.equal(asked, undefined)
  assert.equal(linkHeader(page(1, 0), { total: 1, more: false }, address, asked), undefined)
})
