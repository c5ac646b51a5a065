import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilePage, compileTotal } from '../../src/storage/sqlite/compile.ts'
import type { Entity, Page } from '../../src/storage/storage.ts'

const entity: Entity = {
  name: 'people',
  key: 'id',
  read: 'admin',
  fields: [
    { name: 'id', type: 'integer', nullable: false },
    { name: 'full name', type: 'text', nullable: true },
    { name: 'enabled', type: 'boolean', nullable: false },
    { name: 'groups', type: 'json', nullable: false },
  ],
  source: { kind: 'table', table: 'people' },
}
const everything: Page = { order: [], offset: 0, limit: null, total: false }
const columns = `'id', "id", 'full name', "full name", 'enabled', json(iif("enabled", 'true', 'false')), 'groups', json("groups")`

test('Q6 a page without an order is in the order of the key', () => {
  assert.deepEqual(compilePage(entity, 'people', everything), {
    sql: `SELECT json_object(${columns}) FROM "people" ORDER BY "id" ASC NULLS LAST LIMIT ? OFFSET ?`,
    values: [-1, 0],
  })
})

test('Q2 Q3 Q4 Q6 a page has its order, then the key, and its window as values', () => {
  const page: Page = {
    order: [
      { field: 'full name', descending: true },
      { field: 'enabled', descending: false },
    ],
    offset: 40,
    limit: 20,
    total: true,
  }
  assert.deepEqual(compilePage(entity, 'people', page), {
    sql: `SELECT json_object(${columns}) FROM "people" ORDER BY "full name" DESC NULLS FIRST, "enabled" ASC NULLS LAST, "id" ASC NULLS LAST LIMIT ? OFFSET ?`,
    values: [20, 40],
  })
})

test('Q7 quotes in names end no name', () => {
  const odd: Entity = {
    ...entity,
    key: `a"b'c`,
    fields: [{ name: `a"b'c`, type: 'text', nullable: false }],
  }
  assert.equal(
    compilePage(odd, 'x"y', everything).sql,
    `SELECT json_object('a"b''c', "a""b'c") FROM "x""y" ORDER BY "a""b'c" ASC NULLS LAST LIMIT ? OFFSET ?`,
  )
})

test('Q5 the total is a count of the whole table', () => {
  assert.deepEqual(compileTotal('x"y'), { sql: 'SELECT count(*) FROM "x""y"', values: [] })
})
