import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import { addTo, epersonsPath, groupsPath, listed, newGroup } from '../../support/clients/people.ts'
import { changesOf } from '../../support/data/events.ts'
import { addItem } from '../../support/data/repository.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

const at = (uuid: string) => `${groupsPath}/${uuid}`

async function started(t: TestContext) {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' } })
  await service.addEperson('admin@example.org', { admin: true })
  const { uuid: ruthId } = await service.addEperson('ruth@example.org')
  const admin = await service.loggedIn('admin@example.org')
  const ruth = await service.loggedIn('ruth@example.org')
  const include = (parent: string, child: string) => addTo(admin, `${at(parent)}/subgroups`, at(child))
  const exclude = (parent: string, child: string) => admin.delete(`${at(parent)}/subgroups/${child}`)
  const join = (group: string) => addTo(admin, `${at(group)}/epersons`, `${epersonsPath}/${ruthId}`)
  return { service, admin, ruth, ruthId, include, exclude, join }
}

test('M6 members of a group are members of all that it is in, for entities, items and lists alike, from the next request on', async t => {
  const { service, admin, ruth, ruthId, include, exclude, join } = await started(t)
  const chain: string[] = []
  for (let level = 0; level < 20; level++) chain.push(await newGroup(admin, `Level ${level}`))
  const [top = '', second = '', third = ''] = chain
  const bottom = chain.at(-1) ?? ''
  await service.addRecords('letters', 'id', [{ id: 1 }], 'group:Level 0')
  await addItem(service, { identifier: 'test/1', readers: [{ reader: 'group:Level 0' }] })
  await join(bottom)
  for (const [level, group] of chain.entries())
    if (level > 0) assert.equal((await include(chain[level - 1] ?? '', group)).status, 204)
  const sees = async (headers = {}) => {
    const items = await (await ruth.get('/api/query/v4/items', headers)).json()
    return [(await ruth.get('/api/query/v4/letters', headers)).status, items.length]
  }
  assert.deepEqual(await sees(), [200, 1])
  assert.equal((await listed(ruth, `${epersonsPath}/${ruthId}/groups?size=100`)).length, 20)
  assert.equal((await ruth.get(at(top))).status, 200, 'she may read the groups that she is in')
  const [person] = await (
    await admin.get(`/api/query/v4/epersons?query=${encodeURIComponent(`["=","uuid","${ruthId}"]`)}`)
  ).json()
  assert.equal(person.groups.length, 20)
  assert.deepEqual(await listed(admin, `${at(second)}/subgroups`), ['Level 2'])
  assert.deepEqual(await listed(admin, `${at(top)}/epersons`), [])

  // Removed and added again in the middle, and at both ends.
  for (const [parent, child] of [
    [second, third],
    [top, second],
    [chain.at(-2) ?? '', bottom],
  ] as const) {
    assert.equal((await exclude(parent, child)).status, 204)
    assert.deepEqual(await sees(), [403, 0])
    assert.equal((await exclude(parent, child)).status, 204, 'once more changes nothing')
    assert.equal((await include(parent, child)).status, 204)
    assert.equal((await include(parent, child)).status, 204)
    assert.deepEqual(await sees(), [200, 1])
  }
  const acting = await service.loggedIn('admin@example.org')
  const asRuth = await acting.get('/api/query/v4/letters', { 'x-on-behalf-of': ruthId })
  assert.equal(asRuth.status, 200)
  const included = await changesOf(admin, 'group.include')
  assert.deepEqual(included[1], { before: null, after: { subgroup: 'Level 2' } })
  assert.deepEqual((await changesOf(admin, 'group.exclude'))[0], {
    before: { subgroup: 'Level 2' },
    after: null,
  })
  // Deleting a group in the middle breaks the chain, although no rule names that group.
  assert.equal((await admin.delete(at(third))).status, 204)
  assert.deepEqual(await sees(), [403, 0])
})

test('M6 a member of a group doesn’t learn which other groups are in it', async t => {
  const { admin, ruth, include, join } = await started(t)
  const [all, own, other] = [
    await newGroup(admin, 'All'),
    await newGroup(admin, 'Own'),
    await newGroup(admin, 'Disciplinary board'),
  ]
  for (const group of [own, other]) assert.equal((await include(all, group)).status, 204)
  await join(own)
  assert.deepEqual(await listed(admin, `${at(all)}/subgroups`), ['Disciplinary board', 'Own'])
  assert.equal((await ruth.get(at(all))).status, 200)
  assert.deepEqual(await listed(ruth, `${at(all)}/subgroups`), [])
  await assertProblem(await ruth.get(at(other)), 403, 'access-denied')
})

test('M6 no circle, and no more than twenty levels, whichever end a group is added to', async t => {
  const { admin, include } = await started(t)
  const groups: string[] = []
  for (let n = 0; n < 21; n++) groups.push(await newGroup(admin, `G${n}`))
  const [a = '', b = '', c = ''] = groups
  await assertProblem(await include(a, a), 422, 'change-refused')
  await include(a, b)
  await include(b, c)
  await include(a, c)
  for (const [parent, child] of [
    [b, a],
    [c, a],
    [c, b],
  ] as const)
    await assertProblem(await include(parent, child), 422, 'change-refused')
  for (let n = 3; n < 20; n++)
    assert.equal((await include(groups[n - 1] ?? '', groups[n] ?? '')).status, 204, `${n}`)
  const { detail } = await assertProblem(
    await include(groups[19] ?? '', groups[20] ?? ''),
    422,
    'change-refused',
  )
  assert.match(detail, /20 levels/)
  await assertProblem(await include(groups[20] ?? '', a), 422, 'change-refused')
  assert.equal((await include(groups[20] ?? '', b)).status, 204)
  assert.deepEqual(
    (await listed(admin, `${groupsPath}/search/isNotMemberOf?group=${a}&query=g1&size=50`)).includes('G1'),
    false,
  )
  assert.deepEqual(
    await listed(admin, `${groupsPath}/search/isNotMemberOf?group=${a}&query=g0`),
    [],
    'not itself',
  )
  assert.deepEqual(await listed(admin, `${groupsPath}/search/isNotMemberOf?group=${a}&query=g3`), ['G3'])
  await assertProblem(await admin.get(`${groupsPath}/search/isNotMemberOf`), 400, 'bad-parameter')
})

test('M6 a renamed group goes by its new name from the next request on', async t => {
  const { service, admin, ruth, include, join } = await started(t)
  const [outer, inner] = [await newGroup(admin, 'Outer'), await newGroup(admin, 'Inner')]
  await include(outer, inner)
  await join(inner)
  await service.addRecords('letters', 'id', [{ id: 1 }], 'admin')
  assert.equal((await ruth.get('/api/query/v4/letters')).status, 403)
  const renamed = await admin.patch(at(outer), '[{"op":"replace","path":"/name","value":"Later"}]', {
    'content-type': 'application/json',
  })
  assert.equal(renamed.status, 200, await renamed.text())
  await service.storage.entities.changeReadRule('letters', 'group:Later', commandEvent('entity.access'))
  assert.equal((await ruth.get('/api/query/v4/letters')).status, 200)
})
