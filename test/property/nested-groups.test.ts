import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { commandEvent } from '../../src/cli/store.ts'
import type { Client } from '../support/clients/client.ts'
import { addItem } from '../support/data/repository.ts'
import { runs } from '../support/scale.ts'
import { engines } from '../support/service/engines.ts'
import { startService } from '../support/service/service.ts'

/** Number of groups. Random changes are made on one node, and compared on another with a simple model. */
const groupCount = 7
const epersons = ['ada@example.org', 'bob@example.org', 'eva@example.org']

const step = fc.oneof(
  fc.record({
    kind: fc.constant('edge' as const),
    on: fc.boolean(),
    from: fc.nat(groupCount - 1),
    to: fc.nat(groupCount - 1),
  }),
  fc.record({
    kind: fc.constant('member' as const),
    on: fc.boolean(),
    from: fc.nat(groupCount - 1),
    to: fc.nat(epersons.length - 1),
  }),
)

/** Returns the numbers of the groups that can be reached from these by edges from child to parent. */
function reach(start: readonly number[], edges: ReadonlySet<string>): Set<number> {
  const found = new Set(start)
  for (const group of found)
    for (let parent = 0; parent < groupCount; parent++) if (edges.has(`${parent} ${group}`)) found.add(parent)
  return found
}

for (const engine of engines)
  describe(`groups in groups on ${engine}`, () => {
    test('M6 Q11 everybody sees what a plain reading of all groups in groups says, from the next request on', async t => {
      const service = await startService(t, { engine })
      const node = await startService(t, { dataFolder: service.dataFolder })
      const { people } = service.storage
      const names = Array.from({ length: groupCount }, (_, n) => `Group ${n}`)
      const groups: string[] = []
      for (const name of names) {
        const added = await people.createGroup({ name, description: null }, commandEvent('group.add'))
        assert.ok(added !== 'exists')
        groups.push(added.uuid)
        await addItem(service, {
          identifier: `test/${name}`,
          readers: [{ reader: `group:${name}` }],
          files: [],
        })
      }
      await service.addEperson('admin@example.org', { admin: true })
      const ids: string[] = []
      const clients: Client[] = []
      for (const email of epersons) {
        ids.push((await service.addEperson(email)).uuid)
        const client = node.client()
        await client.login(email)
        clients.push(client)
      }
      const edges = new Set<string>()
      const members = new Set<string>()
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async steps => {
          for (const { kind, on, from, to } of steps) {
            const key = `${from} ${to}`
            const [outer = '', inner = ''] = [groups[from], groups[to]]
            if (kind === 'edge') {
              const circle = on && !edges.has(key) && reach([from], edges).has(to)
              const expected = edges.has(key) === on ? 'unchanged' : circle ? 'circle' : 'changed'
              assert.equal(
                await people.setSubgroup(on, outer, inner, commandEvent('group.include')),
                expected,
              )
              if (expected === 'changed') on ? edges.add(key) : edges.delete(key)
            } else {
              const expected = members.has(key) === on ? 'unchanged' : 'changed'
              assert.equal(
                await people.setMember(on, outer, ids[to] ?? '', commandEvent('group.join')),
                expected,
              )
              on ? members.add(key) : members.delete(key)
            }
            for (const [n, client] of clients.entries()) {
              const direct = names.flatMap((_, group) => (members.has(`${group} ${n}`) ? [group] : []))
              const wanted = [...reach(direct, edges)].map(group => names[group] ?? '').toSorted()
              const answer = await client.get('/api/query/v4/items?order_by=[{"field":"identifier"}]')
              const seen = ((await answer.json()) as { identifier: string }[]).map(one => one.identifier)
              assert.deepEqual(
                seen,
                wanted.map(name => `test/${name}`),
              )
            }
          }
          const listed = await people.listEpersons()
          for (const [n, email] of epersons.entries()) {
            const direct = names.flatMap((_, group) => (members.has(`${group} ${n}`) ? [group] : []))
            const wanted = [...reach(direct, edges)].map(group => names[group] ?? '').toSorted()
            assert.deepEqual(listed.find(one => one.email === email)?.groups, wanted)
            assert.deepEqual(
              (await people.groupsOf(ids[n] ?? '')).map(({ name }) => name),
              wanted,
            )
          }
        }),
        { ...runs(3, 40), interruptAfterTimeLimit: 30_000 },
      )
    })
  })
