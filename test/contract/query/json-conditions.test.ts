import assert from 'node:assert/strict'
import { list } from '../../support/clients/listings.ts'
import { importText, ndjson } from '../../support/data/imports.ts'
import { addItem } from '../../support/data/repository.ts'
import { test, testOn } from '../../support/service/engines.ts'
import { exposeIn, withTables } from '../../support/service/exposed-tables.ts'
import { type Service, startService } from '../../support/service/service.ts'

/** A large number. Conditions on JSON behave as in PuppetDB here, on small entities with PuppetDB's names. */
const big = 12345678901234567890n

/** Values of facts, one each; the letter is the key. */
const facts = {
  a: '"Linux"',
  b: '1',
  c: '1.0',
  d: '"1"',
  e: 'true',
  f: 'null',
  g: '["sda","sdb"]',
  h: '[1,2]',
  i: '{"family":"Debian","a":1}',
  j: '{"a":1,"family":"Debian"}',
  k: '15',
  l: '1e-7',
  m: String(big),
  n: '"sda"',
  o: '2.50',
  p: '[]',
} as const

const all = Object.keys(facts)
const but = (...letters: readonly string[]) => all.filter(letter => !letters.includes(letter)).join('')

/** Conditions on the value, with the letters of the matching facts. */
const ofValues: readonly (readonly [condition: unknown, letters: string])[] = [
  [['=', 'value', 1], 'bc'],
  [['=', 'value', '1'], 'd'],
  [['=', 'value', true], 'e'],
  [['=', 'value', 'sda'], 'n'],
  [['=', 'value', ['sda', 'sdb']], 'g'],
  [['=', 'value', { family: 'Debian', a: 1 }], 'ij'],
  [['not', ['=', 'value', 'Linux']], but('a')],
  [['not', ['=', 'value', 1]], but('b', 'c')],
  [['not', ['=', 'value', ['sda', 'sdb']]], but('g')],
  [['in', 'value', ['array', [1, 'sda', 2]]], 'bcn'],
  [['not', ['in', 'value', ['array', [1, 'sda', 2]]]], but('b', 'c', 'n')],
  [['in', 'value', ['array', []]], ''],
  [['not', ['in', 'value', ['array', []]]], but()],
  [['and', ['not', ['=', 'value', 'Linux']], ['not', ['=', 'value', 1]]], but('a', 'b', 'c')],
  [['not', ['or', ['=', 'value', 'Linux'], ['null?', 'value', true]]], but('a', 'f')],
  [['null?', 'value', true], 'f'],
  [['not', ['null?', 'value', true]], but('f')],
  [['in', 'value', ['from', 'words', ['extract', 'word']]], 'n'],
  [['not', ['in', 'value', ['from', 'words', ['extract', 'word']]]], but('n')],
  [['in', 'value', ['extract', 'number', ['select_words']]], 'bc'],
  [['not', ['in', 'value', ['extract', 'number', ['select_words']]]], but('b', 'c')],
  [['in', ['kind', 'value'], ['from', 'words', ['extract', ['kind', 'word']]]], 'n'],
  [['not', ['in', ['kind', 'value'], ['from', 'words', ['extract', ['kind', 'word']]]]], but('n')],
  [['in', ['kind', 'value'], ['array', [['fact', 'sda']]]], 'n'],
  [['not', ['in', ['kind', 'value'], ['array', [['fact', 'sda']]]]], but('n')],
  [['>', 'value', 1], 'kmo'],
  [['not', ['>', 'value', 1]], but('f', 'k', 'm', 'o')],
  [['~', 'value', '^1$'], 'bcd'],
  [['~', 'value', '^(15|true|2\\.5|0\\.0000001|12345678901234567890)$'], 'eklmo'],
  [['~', 'value', '^\\["sda", "sdb"\\]$'], 'g'],
  [['~', 'value', '^\\[1, 2\\]$'], 'h'],
  [['~', 'value', '^\\{"a": 1, "family": "Debian"\\}$'], 'ij'],
  [['~', 'value', 'sda'], 'gn'],
  [['not', ['~', 'value', '^1$']], but('b', 'c', 'd', 'f')],
  [['~', 'value', ''], but('f')],
]

/** Nodes with structured facts. */
const nodes = [
  {
    id: 'a',
    facts: { role: 'web', disks: ['sda'], size: 8, os: { family: 'Debian' } },
    tags: ['one', 'class'],
  },
  { id: 'b', facts: { role: 'db', disks: ['sda', 'sdb'], size: '8', os: {} }, tags: ['two'] },
  { id: 'c', facts: { role: null, disks: 'sda', os: null }, tags: [] },
  { id: 'd', facts: {}, tags: null },
] as const

const ofMembers: readonly (readonly [condition: unknown, ids: string])[] = [
  [['not', ['=', 'facts.role', 'web']], 'bcd'],
  [['not', ['=', 'facts.nosuch', 'x']], 'abcd'],
  [['not', ['=', 'facts.os.family', 'Debian']], 'bcd'],
  [['not', ['in', 'facts.role', ['array', ['web', 'db']]]], 'cd'],
  [['not', ['in', 'facts.role', ['from', 'words', ['extract', 'word']]]], 'abcd'],
  [['not', ['~', 'facts.role', '^w']], 'b'],
  [['not', ['~', 'facts.nosuch', 'x']], ''],
  [['not', ['>', 'facts.size', 9]], 'ab'],
  [['null?', 'facts.role', true], 'cd'],
  [['=', 'facts.disks', 'sda'], 'c'],
  [['=', 'facts.disks[0]', 'sda'], 'ab'],
  [['~', 'facts.disks', '^sda$'], 'c'],
  [['~', 'facts.size', '^8$'], 'ab'],
  // Conditions on a list of texts look at its elements; without a list, the result is unknown.
  [['=', 'tags', 'class'], 'a'],
  [['=', 'tags', ['two']], 'b'],
  [['=', 'tag', 'CLASS'], 'a'],
  [['~', 'tags', '^(one|two)$'], 'ab'],
  [['~', 'tags', ', '], ''],
  [['in', 'tags', ['array', ['two', 'class']]], 'ab'],
  [['in', 'tags', ['from', 'words', ['extract', 'tag']]], 'a'],
  [['not', ['in', 'tags', ['from', 'words', ['extract', 'tag']]]], 'bc'],
  [['in', ['id', 'tags'], ['from', 'words', ['extract', ['id', 'tag']]]], 'a'],
  [['not', ['=', 'tags', 'class']], 'bc'],
  [['not', ['~', 'tags', 'class']], 'bc'],
  [['=', 'tags[1]', 'class'], 'a'],
  [['not', ['=', 'tags[1]', 'class']], 'bcd'],
]

const paths = {
  a: ['kernel'],
  b: ['kernelversion'],
  c: ['disks', 0],
  d: ['disks', 'sda', 'size'],
  e: ['mixed', 12],
  f: ['mixed', '12'],
  g: ['os', 'name'],
  h: ['os', 'a\\b'],
} as const

const ofPaths: readonly (readonly [elements: readonly (string | number)[], letters: string])[] = [
  [['kernel'], 'a'],
  [['kernel.*'], 'ab'],
  [['^kernel$'], 'a'],
  [['disks', '.*'], 'c'],
  [['disks', '\\d'], 'c'],
  [['disks', '0'], ''],
  [['disks', 0], 'c'],
  [['mixed', '\\d'], ''],
  [['mixed', '\\d+'], 'ef'],
  [['mixed', '12'], 'f'],
  [['mixed', 12], 'e'],
  [['.*', 'n.*'], 'g'],
  [['os|disks', 'name|size'], 'g'],
  [['os', '\\Qa\\b'], 'h'],
]

const words = [
  { id: 'a', word: 'sda', kind: 'fact', tag: 'class', number: 1 },
  { id: 'b', word: null, kind: 'fact', tag: 'none', number: 3 },
]

const lines = (member: string, values: Readonly<Record<string, string>>) =>
  Object.entries(values)
    .map(([id, value]) => `{"id":"${id}","kind":"fact","${member}":${value}}\n`)
    .join('')

const pathTexts = Object.fromEntries(
  Object.entries(paths).map(([id, elements]) => [id, JSON.stringify(elements)]),
)

async function importAll(service: Service): Promise<void> {
  const types = new Map([['value', 'json'] as const])
  await importText(service, lines('value', facts), { entity: 'facts', key: 'id', types })
  await importText(service, lines('path', pathTexts), { entity: 'fact-paths', key: 'id' })
  await importText(service, ndjson(nodes), { entity: 'nodes', key: 'id' })
  await importText(service, ndjson(words), { entity: 'words', key: 'id' })
}

async function everyCondition(service: Service): Promise<void> {
  const ask = async (entity: string, query: unknown) =>
    (await list<{ id: string }>(service.client(), entity, { query: query as never }))
      .map(({ id }) => id)
      .join('')
  for (const [condition, letters] of ofValues)
    assert.equal(await ask('facts', condition), letters, JSON.stringify(condition))
  for (const [condition, ids] of ofMembers)
    assert.equal(await ask('nodes', condition), ids, JSON.stringify(condition))
  for (const [elements, letters] of ofPaths)
    assert.equal(await ask('fact-paths', ['~>', 'path', elements]), letters, JSON.stringify(elements))
  // The same conditions work on the results of groups.
  const groups = await list(service.client(), 'nodes', {
    query: [
      'extract',
      ['facts.role', 'tags', ['function', 'count']],
      ['group_by', 'facts.role', 'tags'],
      ['having', ['and', ['not', ['=', 'facts.role', 'web']], ['not', ['=', 'tags', 'one']]]],
    ] as never,
  })
  assert.deepEqual(groups, [
    { 'facts.role': 'db', tags: ['two'], count: 1 },
    { 'facts.role': null, tags: [], count: 1 },
  ])
}

test('Q20 Q21 conditions on JSON of imported records list what PuppetDB lists', async t => {
  const service = await startService(t)
  await importAll(service)
  await everyCondition(service)
})

testOn('postgres', 'Q20 Q21 conditions on JSON of exposed tables list what PuppetDB lists', async t => {
  const rows = (entries: Readonly<Record<string, string>>) =>
    Object.entries(entries)
      .map(([id, value]) => `('${id}', 'fact', '${value}')`)
      .join(', ')
  const { service } = await withTables(
    t,
    `CREATE TABLE facts (id text PRIMARY KEY, kind text, value jsonb);
     INSERT INTO facts VALUES ${rows(facts)};
     CREATE TABLE "fact-paths" (id text PRIMARY KEY, kind text, path json);
     INSERT INTO "fact-paths" VALUES ${rows(pathTexts)};
     CREATE TABLE nodes (id text PRIMARY KEY, facts json, tags text[]);
     INSERT INTO nodes SELECT * FROM json_populate_recordset(NULL::nodes, '${JSON.stringify(nodes)}');
     CREATE TABLE words (id text PRIMARY KEY, word text, kind text, tag text, number integer);
     INSERT INTO words SELECT * FROM json_populate_recordset(NULL::words, '${JSON.stringify(words)}')`,
  )
  for (const table of ['facts', 'fact-paths', 'nodes', 'words']) await exposeIn(service, table)
  await everyCondition(service)
})

test('Q20 of built-in entities, lists are asked for their elements, and metadata as a whole', async t => {
  const service = await startService(t)
  const metadata = {
    'dc.contributor.author': [{ value: 'Zoë', language: null }],
    'dc.subject': [{ value: 'Leiden', language: null }],
  }
  await addItem(service, { identifier: 'one', metadata })
  await addItem(service, { identifier: 'two' })
  const ask = async (query: unknown) =>
    (await list<{ identifier: string }>(service.client(), 'items', { query: query as never }))
      .map(({ identifier }) => identifier)
      .toSorted()
  assert.deepEqual(await ask(['=', 'authors', 'Zoë']), ['one'])
  assert.deepEqual(await ask(['not', ['=', 'authors', 'Zoë']]), ['two'])
  assert.deepEqual(await ask(['not', ['=', 'metadata."dc.subject"[0].value', 'Basel']]), ['one', 'two'])
  assert.deepEqual(await ask(['not', ['=', 'metadata."dc.subject"[0].value', 'Leiden']]), ['two'])
  assert.deepEqual(await ask(['~', 'metadata."dc.subject"', '"value": "Leiden"']), ['one'])
})
