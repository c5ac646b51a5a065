import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Client } from '../../support/clients/client.ts'
import { change, newItem, read, replaceContent, statusOf, upload } from '../../support/data/editing.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

async function started(t: TestContext) {
  const service = await startService(t, { env: { CARREL_LOGIN_ON_BEHALF_OF: 'true' } })
  await service.addEperson('root@example.org', { admin: true })
  const ed = await service.addEperson('ed@example.org', { groups: ['Editors'] })
  await service.addEperson('ruth@example.org')
  const clients: Record<string, Client> = {}
  for (const name of ['root', 'ed', 'ruth']) {
    const client = await service.loggedIn(`${name}@example.org`)
    clients[name] = client
  }
  const { root = service.client() } = clients
  const groups = await service.storage.people.listGroups()
  const editors = groups.find(one => one.name === 'Editors')?.uuid ?? ''
  const make = async () => {
    const item = await newItem(root)
    await change(root, 'post', `/api/authz/resourcepolicies?resource=${item.uuid}&group=${editors}`, {
      action: 'WRITE',
    })
    const { body: file } = await upload(root, item.bundle, { name: 'a', content: 'a' })
    return { ...item, file: file.uuid }
  }
  return { service, callers: { ...clients, nobody: service.client() }, root, ed, make }
}

type Made = { readonly uuid: string; readonly path: string; readonly bundle: string; readonly file: string }

const replace = (name: string, value: boolean) => [{ op: 'replace', path: `/${name}`, value }]
const bitstream = ({ file }: Made) => `/api/core/bitstreams/${file}`
const bundle = (made: Made) => `/api/core/bundles/${made.bundle}`

/** Features, each with the object that a client asks about, and with the attempt that it promises. */
const tries: readonly (readonly [
  feature: string,
  of: (made: Made) => string,
  attempt: (client: Client, made: Made) => Promise<number>,
])[] = [
  ['canDownload', bitstream, (client, made) => statusOf(client, `${bitstream(made)}/content`)],
  ...(['canEditItem', 'canEditMetadata'] as const).map(
    feature =>
      [
        feature,
        ({ path }: Made) => path,
        async (client: Client, { path }: Made) =>
          (
            await change(client, 'patch', path, [
              { op: 'add', path: '/metadata/dc.subject/-', value: { value: 'x' } },
            ])
          ).status,
      ] as const,
  ),
  [
    'canEditMetadata',
    bitstream,
    async (client, made) =>
      (
        await change(client, 'patch', bitstream(made), [
          { op: 'add', path: '/metadata/dc.description/-', value: { value: 'x' } },
        ])
      ).status,
  ],
  [
    'canMakePrivate',
    ({ path }) => path,
    async (client, { path }) => (await change(client, 'patch', path, replace('discoverable', false))).status,
  ],
  [
    'withdrawItem',
    ({ path }) => path,
    async (client, { path }) => (await change(client, 'patch', path, replace('withdrawn', true))).status,
  ],
  [
    'canManageBitstreamBundles',
    ({ path }) => path,
    async (client, { path }) => (await change(client, 'post', `${path}/bundles`, { name: 'TEXT' })).status,
  ],
  [
    'canCreateBitstream',
    bundle,
    async (client, made) => (await upload(client, made.bundle, { name: 'b', content: 'b' })).status,
  ],
  [
    'canDeleteBitstream',
    bitstream,
    async (client, made) => (await change(client, 'delete', bitstream(made))).status,
  ],
  [
    'canReplaceBitstreamAdmin',
    bitstream,
    async (client, made) => (await replaceContent(client, made.file, { name: 'b', content: 'b' })).status,
  ],
  ['canDelete', bitstream, async (client, made) => (await change(client, 'delete', bitstream(made))).status],
  ['canDelete', bundle, async (client, made) => (await change(client, 'delete', bundle(made))).status],
  [
    'canManagePolicies',
    ({ path }) => path,
    (client, { uuid }) => statusOf(client, `/api/authz/resourcepolicies/search/resource?uuid=${uuid}`),
  ],
  [
    'canDelete',
    ({ path }) => path,
    async (client, { path }) => (await change(client, 'delete', path)).status,
  ],
]

async function isGranted(client: Client, feature: string, path: string): Promise<boolean> {
  const uri = encodeURIComponent(`http://repo.example.edu${path}`)
  const page = await read(client, `/api/authz/authorizations/search/object?uri=${uri}&feature=${feature}`)
  return page.page.totalElements === 1
}

test('Z1 I13 what may be done with items, bundles and files is granted to exactly those for whom it works', async t => {
  const { callers, make } = await started(t)
  for (const [name, client] of Object.entries(callers)) {
    const granted: string[] = []
    for (const [feature, of, attempt] of tries) {
      const made = await make()
      const says = await isGranted(client, feature, of(made))
      const status = await attempt(client, made)
      assert.equal(says, status < 300, `${feature} of ${of(made)} for ${name}: ${status}`)
      if (says) granted.push(feature)
    }
    assert.equal(granted.length, { root: tries.length, ed: tries.length - 2 }[name] ?? 0, name)
  }
})

test('Z1 I10 an item can be withdrawn or reinstated, never both', async t => {
  const { root, make } = await started(t)
  const { path } = await make()
  const both = async () => [
    await isGranted(root, 'withdrawItem', path),
    await isGranted(root, 'reinstateItem', path),
  ]
  assert.deepEqual(await both(), [true, false])
  assert.equal((await change(root, 'patch', path, replace('withdrawn', true))).status, 200)
  assert.deepEqual(await both(), [false, true])
  assert.equal(
    await isGranted(root, 'canDelete', '/api/core/items/00000000-0000-4000-8000-000000000000'),
    false,
  )
})

test('B3 B4 I13 acting as someone, an administrator may change what that person may, and the trail names both', async t => {
  const { service, root, ed, make } = await started(t)
  const made = await make()
  const acting = { 'x-on-behalf-of': ed.uuid }
  const title = [{ op: 'replace', path: '/metadata/dc.title/0/value', value: 'New' }]
  assert.equal((await change(root, 'patch', made.path, title, acting)).status, 200)
  assert.equal((await change(root, 'delete', made.path, undefined, acting)).status, 403)
  const events = (await (
    await root.get(`/api/query/v4/audit-events?query=${encodeURIComponent('["=","event","item.change"]')}`)
  ).json()) as { eperson: string; actor: string; object: string; changes?: { after: unknown } }[]
  const rootUuid = (await service.storage.people.eperson(events[0]?.actor ?? ''))?.email
  assert.deepEqual(
    [events.length, events[0]?.eperson, rootUuid, events[0]?.object],
    [1, ed.uuid, 'root@example.org', made.uuid],
  )
  const told = { 'metadata.dc.title': [{ value: 'New', language: 'en' }] }
  assert.deepEqual(events[0]?.changes?.after, told)
})
