import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { commandEvent } from '../../src/cli/store.ts'
import type { Eperson } from '../../src/model/accounts.ts'
import type { EpersonSearch } from '../../src/model/people.ts'
import { storeClient } from '../support/clients/store-client.ts'
import { runs } from '../support/scale.ts'
import { engines, test as onEngines, runSqlIn } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

/**
 * Letters of names. Epersons are changed at random on one node, and searches on another are compared with a
 * simple model.
 */
const letters = fc.constantFrom(
  'a',
  'A',
  'b',
  'ß',
  'İ',
  'é',
  'É',
  ' ',
  '%',
  '_',
  "'",
  '"',
  '.',
  '\n',
  '😀',
  '\u{1F469}',
  'ﬀ',
)
const word = fc.string({ unit: letters, maxLength: 6 })
const name = fc.option(word)
const who = fc.nat(11)

const step = fc.oneof(
  fc.record({ kind: fc.constant('add' as const), who, first: name, last: name }),
  fc.record({ kind: fc.constant('rename' as const), who, first: name, last: name }),
  fc.record({ kind: fc.constant('move' as const), who, to: who }),
  fc.record({ kind: fc.constant('remove' as const), who }),
  fc.record({ kind: fc.constant('join' as const), who, is: fc.boolean() }),
  fc.record({
    kind: fc.constant('search' as const),
    text: fc.oneof(word, fc.constantFrom('@', 'a@b', 'org', 'a b', '\0')),
    inside: fc.constantFrom(null, true, false),
    offset: fc.nat(5),
    limit: fc.integer({ min: 1, max: 5 }),
  }),
  fc.record({ kind: fc.constant('uuid' as const), who }),
)

const addresses = [
  'a@b.org',
  'B@a.org',
  'ab@b.org',
  'é@é.org',
  'ß@x.org',
  'z_z@org.a',
  '😀@a.org',
  'ﬀ@a.org',
  'o%@b.org',
]
const addressOf = (n: number) => (n < addresses.length ? addresses[n] : `person${n}@example.org`) ?? ''

const inOrder = (people: Iterable<Eperson>): Eperson[] =>
  [...people].sort((a, b) =>
    Buffer.compare(Buffer.from(a.email.toLowerCase()), Buffer.from(b.email.toLowerCase())),
  )

/** Returns the epersons that a search must find by the contract. */
function plainly(
  people: Iterable<Eperson>,
  members: ReadonlySet<string>,
  { text, membership }: EpersonSearch,
) {
  const named = ({ firstName, lastName }: Eperson) =>
    // The space is there even if one of the names is missing.
    `${firstName ?? ''} ${lastName ?? ''}`.toLowerCase()
  return inOrder(people)
    .filter(
      one =>
        text === '' ||
        one.uuid === text ||
        one.email.toLowerCase().includes(text) ||
        named(one).includes(text),
    )
    .filter(one => membership === null || members.has(one.uuid) === membership.is)
    .map(({ uuid }) => uuid)
}

for (const engine of engines)
  describe(`searches among people on ${engine}`, () => {
    test('M3 S4 a search finds on every node what a plain reading of everybody finds, from the next request on', async t => {
      const service = await startService(t, { engine })
      const node = await startService(t, { dataFolder: service.dataFolder })
      const { people } = service.storage
      const group = await people.createGroup({ name: 'Some', description: null }, commandEvent('group.add'))
      assert.ok(group !== 'exists')
      // Without an administrator, so that any eperson can be deleted.
      const known = new Map<number, Eperson>()
      const members = new Set<string>()
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 25 }), async steps => {
          for (const one of steps) {
            const person = 'who' in one ? known.get(one.who) : undefined
            if (one.kind === 'add' && !person) {
              const { first: firstName, last: lastName } = one
              const added = await people.createEperson(
                {
                  email: addressOf(one.who),
                  firstName,
                  lastName,
                  passwordHash: null,
                  enabled: true,
                  profile: {},
                },
                commandEvent('eperson.add'),
              )
              assert.ok(added !== 'exists')
              known.set(one.who, added)
            } else if ((one.kind === 'rename' || one.kind === 'move') && person) {
              if (one.kind === 'move' && known.has(one.to)) continue
              const change =
                one.kind === 'rename'
                  ? { firstName: one.first, lastName: one.last }
                  : { email: addressOf(one.to) }
              const changed = await people.changeEperson(person.uuid, change, commandEvent('eperson.change'))
              assert.ok(typeof changed !== 'string')
              known.delete(one.who)
              known.set(one.kind === 'move' ? one.to : one.who, changed)
            } else if (one.kind === 'remove' && person) {
              const removed = await people.removeEperson(person.uuid, commandEvent('eperson.delete'))
              assert.equal(removed, 'changed')
              known.delete(one.who)
              members.delete(person.uuid)
            } else if (one.kind === 'join' && person) {
              await people.setMember(one.is, group.uuid, person.uuid, commandEvent('group.join'))
              one.is ? members.add(person.uuid) : members.delete(person.uuid)
            } else if (one.kind === 'search' || (one.kind === 'uuid' && person)) {
              const text = one.kind === 'uuid' ? (person?.uuid ?? '') : one.text.toLowerCase()
              const is = one.kind === 'uuid' ? null : one.inside
              const search = { text, membership: is === null ? null : { group: group.uuid, is } }
              const { offset, limit } = one.kind === 'uuid' ? { offset: 0, limit: 2 } : one
              const found = await node.storage.people.findEpersons(search, { offset, limit }, storeClient)
              const expected = plainly(known.values(), members, search)
              assert.deepEqual(
                found.rows.map(({ uuid }) => uuid),
                expected.slice(offset, offset + limit),
              )
              assert.equal(found.total, expected.length)
            }
          }
        }),
        { ...runs(10, 500), endOnFailure: true },
      )
    })

    test('M3 S4 pages far into thousands, and searches outside of large groups, find what a plain reading finds', async t => {
      const service = await startService(t, { engine })
      const node = await startService(t, { dataFolder: service.dataFolder })
      const { people } = service.storage
      const count = 5_000
      const [schema, series, key] =
        engine === 'sqlite'
          ? [
              '',
              `(WITH RECURSIVE n(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < ${count}) SELECT n FROM n)`,
              "x''",
            ]
          : ['carrel.', `generate_series(1, ${count}) AS n`, "''"]
      const groups: string[] = []
      for (const name of ['Few', 'Many']) {
        const added = await people.createGroup({ name, description: null }, commandEvent('group.add'))
        assert.ok(added !== 'exists')
        groups.push(added.uuid)
      }
      const search = (text: string, group: string | null, offset: number, is = false) =>
        node.storage.people.findEpersons(
          { text, membership: group === null ? null : { group, is } },
          { offset, limit: 7 },
          storeClient,
        )
      // The list of names exists before there are many changes.
      assert.equal((await search('number', null, 0)).total, 0)
      const rows = (
        from: string,
      ) => `INSERT INTO ${schema}eperson (uuid, email, email_key, first_name, name_key, enabled,
          password_stamp, session_key, stamp, created)
        SELECT 'u' || ${from} || n, ${from} || n || '@example.org', ${from} || n || '@example.org', 'Number ' || n,
          'number ' || n, 1, 0, ${key}, 0, '2026-01-01T00:00:00Z' FROM ${series}`
      const run = async (sql: string) => {
        if (engine === 'postgres') return runSqlIn(service.dataFolder, sql)
        const db = new DatabaseSync(join(service.dataFolder, 'carrel.db'))
        db.exec(sql)
        return db.close()
      }
      for (const from of ["'p'", "'q'", "'r'"]) await run(rows(from))
      await run(
        `INSERT INTO ${schema}membership (eperson, epersongroup) SELECT 'up' || n, '${groups[0]}' FROM ${series} WHERE n < 50`,
      )
      await run(
        `INSERT INTO ${schema}membership (eperson, epersongroup) SELECT 'up' || n, '${groups[1]}' FROM ${series}`,
      )
      const all = inOrder(await people.listEpersons())
      const [few, many] = [1, 2].map(() => new Set<string>())
      for (let n = 1; n <= count; n++) {
        if (n < 50) few?.add(`up${n}`)
        many?.add(`up${n}`)
      }
      const finds = async (
        text: string,
        group: string | undefined,
        members: ReadonlySet<string> | undefined,
        offset: number,
        is = false,
      ) => {
        const found = await search(text, group ?? null, offset, is)
        const membership = group === undefined ? null : { group, is }
        const expected = plainly(all, members ?? new Set(), { text, membership })
        assert.deepEqual(
          found.rows.map(({ uuid }) => uuid),
          expected.slice(offset, offset + 7),
          `${text} ${offset} ${is}`,
        )
        assert.equal(found.total, expected.length)
      }
      await finds('', undefined, undefined, 3 * count - 3)
      await finds('', undefined, undefined, 3 * count)
      await finds('', undefined, undefined, 4_000)
      await finds('12', undefined, undefined, 0)
      const asked = [
        ['', 0],
        ['', 40],
        ['', 4_990],
        ['', 9_000],
        ['12', 0],
        ['number 12', 3],
        ['q12', 3],
        ['1', 2_100],
        ['up77', 0],
      ] as const
      for (const [text, offset] of asked)
        for (const is of [true, false]) {
          await finds(text, groups[0], few, offset, is)
          await finds(text, groups[1], many, offset, is)
        }
      // Members are added and removed in several ways, and an eperson is deleted; each following search must
      // know.
      const uuidsOf = { 10: 'up10', 60: 'up60', 70: 'uq70' }
      const [fewUuid = '', manyUuid = ''] = groups
      await people.setMember(false, fewUuid, uuidsOf[10], commandEvent('group.leave'))
      few?.delete(uuidsOf[10])
      await finds('number 1', groups[0], few, 0, true)
      await people.setMember(true, manyUuid, uuidsOf[70], commandEvent('group.join'))
      many?.add(uuidsOf[70])
      await finds('', groups[1], many, 4_997, true)
      await run(`DELETE FROM ${schema}membership WHERE eperson = '${uuidsOf[60]}'`)
      many?.delete(uuidsOf[60])
      await finds('number 60', groups[1], many, 0, false)
      await people.removeEperson('up80', commandEvent('eperson.delete'))
      many?.delete('up80')
      all.splice(
        all.findIndex(({ uuid }) => uuid === 'up80'),
        1,
      )
      await finds('', groups[1], many, 4_990, true)
      await finds('', groups[1], many, 9_000, false)
      assert.equal(await people.removeGroup(manyUuid, commandEvent('group.delete')), 'changed')
      await finds('', groups[1], new Set(), 4_990, true)
      await finds('12', groups[1], new Set(), 0, false)
      await finds('number 1', groups[0], few, 0, true)
    })
  })

onEngines('M3 S4 searches in many groups at once find their members while others join and leave', async t => {
  const service = await startService(t)
  const node = await startService(t, { dataFolder: service.dataFolder })
  const { people } = service.storage
  const persons: string[] = []
  for (let n = 0; n < 12; n++) persons.push((await service.addEperson(`p${n}@example.org`)).uuid)
  const groups = new Map<string, Set<string>>()
  // More groups than a list of names covers.
  for (let n = 0; n < 20; n++) {
    const added = await people.createGroup({ name: `G${n}`, description: null }, commandEvent('group.add'))
    assert.ok(added !== 'exists')
    groups.set(added.uuid, new Set())
  }
  const find = (group: string, is: boolean) =>
    node.storage.people.findEpersons(
      { text: 'example', membership: { group, is } },
      { offset: 0, limit: 20 },
      storeClient,
    )
  for (let round = 0; round < 4; round++) {
    const changes = [...groups].map(async ([group, members], at) => {
      const person = persons[(at + round * 5) % persons.length] ?? ''
      const is = !members.has(person)
      await people.setMember(is, group, person, commandEvent(is ? 'group.join' : 'group.leave'))
      if (is) members.add(person)
      else members.delete(person)
      // The next search finds acknowledged changes, whatever else is going on.
      const found = await find(group, is)
      assert.ok(found.rows.some(({ uuid }) => uuid === person))
    })
    await Promise.all([...changes, ...[...groups.keys()].map(group => find(group, true))])
    for (const [group, members] of groups) {
      const found = await find(group, true)
      assert.deepEqual(new Set(found.rows.map(({ uuid }) => uuid)), members)
      assert.equal((await find(group, false)).total, persons.length - members.size)
    }
  }
})
