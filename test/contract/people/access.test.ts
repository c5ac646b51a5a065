import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import type { Readers } from '../../../src/model/readers.ts'
import { administrator } from '../../support/clients/administrator.ts'
import { assertProblem } from '../../support/clients/answers.ts'
import type { Client } from '../../support/clients/client.ts'
import { addTo, groupsPath, newGroup, patchJson } from '../../support/clients/people.ts'
import { viewerSettings } from '../../support/data/viewers.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

/** The access of an eperson as an administrator looks it up, compared with the attempts of that eperson. */

const campus = '10.1.2.3'
const elsewhere = '192.0.2.7'
const json = { 'content-type': 'application/json' }

// Tests read any member of a body.
type Body = ReturnType<typeof JSON.parse>

async function started(t: TestContext) {
  const service = await startService(t, { env: viewerSettings(t) })
  const root = await administrator(service)
  const { uuid: ruth } = await service.addEperson('ruth@example.org', { groups: ['Staff', 'Readers'] })
  const { uuid: max } = await service.addEperson('max@example.org')
  const idOf = async (name: string) => {
    const groups = await service.storage.people.listGroups()
    return groups.find(group => group.name === name)?.uuid ?? ''
  }
  const [staff, local] = [await idOf('Staff'), await idOf('Local')]
  const members = await newGroup(root.client, 'Members')
  const all = await newGroup(root.client, 'All')
  await addTo(root.client, `${groupsPath}/${members}/subgroups`, `${groupsPath}/${staff}`)
  await addTo(root.client, `${groupsPath}/${all}/subgroups`, `${groupsPath}/${members}`)
  await addTo(root.client, `${groupsPath}/${all}/subgroups`, `${groupsPath}/${local}`)
  const ask = async (uuid: string, query = ''): Promise<Body> => {
    const answer = await root.client.get(`/api/admin/epersons/${uuid}/access${query}`)
    assert.equal(answer.status, 200, await answer.clone().text())
    return answer.json()
  }
  return { service, root, ruth, max, ask }
}

const reasons = (body: Body): Record<string, unknown> =>
  Object.fromEntries(body.groups.map(({ name, because }: Body) => [name, because]))

test('OP6 groups come with the reason for each: a membership, another group, a network or the way of logging in', async t => {
  const { ruth, max, ask } = await started(t)
  const plain = await ask(ruth)
  assert.deepEqual(reasons(plain), {
    All: [{ how: 'group', group: 'Members' }],
    Members: [{ how: 'group', group: 'Staff' }],
    Readers: [{ how: 'member' }],
    Staff: [{ how: 'member' }],
  })
  assert.deepEqual(
    [plain.eperson, plain.administrator, plain.groupsTotal],
    [{ uuid: ruth, email: 'ruth@example.org', canLogIn: true }, false, 4],
  )
  assert.deepEqual(reasons(await ask(max)), {})
  assert.deepEqual(reasons(await ask(max, `?address=${campus}&method=password`)), {
    All: [{ how: 'group', group: 'Local' }],
    Campus: [{ how: 'address', ranges: ['10.0.0.0/8'] }],
    Local: [{ how: 'method', method: 'password' }],
  })
  assert.deepEqual(reasons(await ask(max, `?address=${elsewhere}`)), {})
})

const itemRules: Readonly<Record<string, Readers>> = {
  open: [{ reader: 'anonymous' }],
  embargo: [{ reader: 'anonymous', from: '2999-01-01' }, { reader: 'group:Staff' }],
  campus: [{ reader: 'group:Campus' }],
  all: [{ reader: 'group:All' }],
  people: [{ reader: 'eperson' }],
  over: [{ reader: 'eperson', until: '2001-01-01' }],
  closed: [],
  written: [{ reader: 'eperson' }, { reader: 'group:Members', right: 'write' }],
}

test('OP6 what is said of entities, records, items and files is what each of them gets, and the rule is named', async t => {
  const { service, root, ruth, max, ask } = await started(t)
  const { repository, entities } = service.storage
  await repository.putItems(
    Object.entries(itemRules).map(([name, readers]) => ({
      ...{ identifier: `test/${name}`, collections: [], metadata: {}, readers, fingerprint: name },
      title: name,
      bitstreams: [],
    })),
    commandEvent('item.add'),
    [],
  )
  const uuids = new Map<string, string>()
  for (const name of Object.keys(itemRules)) uuids.set(name, (await repository.uuidOf(`test/${name}`)) ?? '')
  const rules = ['anonymous', 'eperson', 'admin', 'group:Members', 'group:Campus', `eperson:${ruth}`] as const
  for (const rule of rules) await service.addRecords(nameOf(rule), 'id', [{ id: 1 }], rule)
  await entities.changeWriteRule('by-eperson', 'group:Staff', commandEvent('entity.writers'))

  for (const [uuid, email] of [
    [ruth, 'ruth@example.org'],
    [max, 'max@example.org'],
    [root.uuid, 'root@example.org'],
  ] as const)
    for (const address of [campus, elsewhere]) {
      const client = await service.loggedIn(email)
      const from = { 'x-forwarded-for': address }
      const way = `?address=${address}&method=password`
      const said = await ask(uuid, way)
      const listed = await client.get('/api/core/items?size=1', from)
      assert.equal(said.items, ((await listed.json()) as Body).page.totalElements, `${email} ${address}`)
      const byName = new Map<string, Body>(said.entities.map((one: Body) => [one.name, one]))
      for (const rule of rules) {
        const name = nameOf(rule)
        const { read, write } = byName.get(name)
        const { status } = await client.get(`/api/query/v4/${name}/1`, from)
        assert.equal(read.may, status === 200, `${email} ${address} ${name}`)
        const record = (await ask(uuid, `${way}&entity=${name}&key=1`)).record
        assert.deepEqual([record.read, record.write], [read, write])
        const tried = await client.put(`/api/query/v4/${name}/1`, '{"id":1}', { ...json, ...from })
        assert.equal(write.may, tried.status < 300, `${email} writes ${name}: ${tried.status}`)
      }
      for (const [name, item] of uuids) {
        const { object } = await ask(uuid, `${way}&object=${item}`)
        const { status } = await client.get(`/api/core/items/${item}`, from)
        assert.equal(object.read.may, status === 200, `${email} ${address} ${name}`)
        assert.equal(object.read.because === null, !object.read.may)
        const operation = { op: 'add', path: '/metadata/dc.subject', value: [{ value: address }] }
        const tried = await patchJson(client, `/api/core/items/${item}`, [operation], from)
        assert.equal(object.write.may, tried.status === 200, `${email} writes ${name}: ${tried.status}`)
      }
    }

  const because = async (name: string, query = '') =>
    (await ask(ruth, `?object=${uuids.get(name)}${query}`)).object
  assert.deepEqual((await because('embargo')).read, { may: true, because: 'group:Staff' })
  assert.deepEqual((await because('written')).write, { may: true, because: 'group:Members write' })
  assert.deepEqual((await because('campus')).read, { may: false, because: null })
  assert.deepEqual((await because('campus', `&address=${campus}`)).read, {
    may: true,
    because: 'group:Campus',
  })
  const asRoot = await ask(root.uuid, `?object=${uuids.get('closed')}`)
  assert.deepEqual(asRoot.object.read, { may: true, because: 'administrator' })
})

const nameOf = (rule: string) => `by-${rule.replace(/^(group|eperson):/, '').toLowerCase()}`

test('OP6 someone who may not log in sees what anybody does, and of the trail each sees their own', async t => {
  const { service, root, ruth, ask } = await started(t)
  const { id } = (await lastEvents(root.client, ruth))[0] ?? {}
  const own = await ask(ruth, `?entity=audit-events&key=${id}`)
  assert.deepEqual(own.record.read, { may: true, because: 'eperson' })
  const [other] = await lastEvents(root.client, root.uuid)
  const others = await ask(ruth, `?entity=audit-events&key=${other?.id}`)
  assert.deepEqual(others.record.read, { may: false, because: null })
  await service.storage.people.setEnabled('ruth@example.org', false, commandEvent('eperson.disable'))
  const disabled = await ask(ruth, '?method=password')
  assert.equal(disabled.eperson.canLogIn, false)
  assert.deepEqual(disabled.groups, [])
  assert.ok(
    disabled.entities.every(
      ({ read, write }: Body) => !write.may && (!read.may || read.because === 'anonymous'),
    ),
  )
})

async function lastEvents(client: Client, eperson: string): Promise<readonly { readonly id: number }[]> {
  const query = encodeURIComponent(JSON.stringify(['=', 'eperson', eperson]))
  const answer = await client.get(`/api/query/v4/audit-events?query=${query}&limit=1`)
  return (await answer.json()) as { id: number }[]
}

test('OP6 what is asked wrongly is refused: addresses, methods, objects, entities and keys', async t => {
  const { root, ruth } = await started(t)
  const ask = (uuid: string, query: string) => root.client.get(`/api/admin/epersons/${uuid}/access${query}`)
  for (const query of ['?address=x', '?method=magic', '?object=1', '?entity=none', '?all=1'])
    await assertProblem(await ask(ruth, query), 400, 'bad-parameter')
  const nobody = '00000000-0000-4000-8000-000000000000'
  await assertProblem(await ask(nobody, ''), 404, 'not-found')
  await assertProblem(await ask('ruth', ''), 404, 'not-found')
  await assertProblem(await ask(ruth, `?object=${nobody}`), 404, 'not-found')
  await assertProblem(await ask(ruth, '?entity=epersons&key=x'), 404, 'not-found')
})
