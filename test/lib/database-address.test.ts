import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDatabaseAddress } from '../../src/lib/database-address.ts'

const addresses = [
  ['postgres://u:p%40@h/db', ['postgres://u:p%40@/db?host=h'], 'postgres://h/db'],
  [
    'postgres://u@h1,h2:5433/db?target_session_attrs=primary&sslmode=verify-full',
    [
      'postgres://u@/db?sslmode=verify-full&host=h1',
      'postgres://u@/db?sslmode=verify-full&host=h2&port=5433',
    ],
    'postgres://h1,h2:5433/db',
  ],
  [
    'postgresql:///db?host=a,b&port=5',
    ['postgres:///db?host=a&port=5', 'postgres:///db?host=b&port=5'],
    'postgres://a:5,b:5/db',
  ],
  [
    'postgres://[::1]:4,[::2]/db',
    ['postgres:///db?host=%3A%3A1&port=4', 'postgres:///db?host=%3A%3A2'],
    'postgres://[::1]:4,[::2]/db',
  ],
  ['postgres://u@%2Fvar%2Frun/db', ['postgres://u@/db?host=%2Fvar%2Frun'], 'postgres:///var/run/db'],
] as const

test('D3 an address of a database is read as libpq reads it', () => {
  for (const [text, servers, name] of addresses) {
    const read = readDatabaseAddress(text)
    assert.ok(typeof read === 'object', text)
    assert.deepEqual([read.servers, read.name], [servers, name])
  }
  for (const wrong of [
    'mysql://h/db',
    'h/db',
    'postgres://h:x/db',
    'postgres://h:70000/db',
    'postgres://a,b:c/db',
  ])
    assert.equal(readDatabaseAddress(wrong), undefined, wrong)
})
