import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { OpenApi } from '../../../src/openapi/document.ts'
import type { Client } from '../clients/client.ts'
import { newGroup, postJson } from '../clients/people.ts'
import { routesOf, type StatedRoute, withAccess } from '../service/routes.ts'
import { type Service, startService, temporaryFolder } from '../service/service.ts'
import { change, newItem, upload } from './editing.ts'

/**
 * A service with one object of every kind that routes are about, none of which the reader may see, and its
 * clients.
 */
export interface World {
  readonly service: Service
  readonly routes: readonly StatedRoute[]
  readonly admin: Client
  readonly reader: Client
  readonly ids: Readonly<Record<string, string>>
  /** Returns the address of a route, with ids of existing objects as parameters. */
  at(url: string, ids?: Readonly<Record<string, string>>): string
}

export const adminEmail = 'admin@example.org'
export const readerEmail = 'reader@example.org'

export async function everything(t: TestContext): Promise<World> {
  const service = await startService(t, {
    env: {
      CARREL_LOGIN_ON_BEHALF_OF: 'true',
      CARREL_BACKUPS: temporaryFolder(t, 'sqlite'),
      // Nothing listens on this port, because no test waits for a mail.
      CARREL_SMTP_URL: 'smtp://127.0.0.1:9',
      CARREL_MAIL_FROM: 'carrel@example.org',
      CARREL_UI_URL: 'https://ui.example.org',
    },
  })
  const { uuid: adminId } = await service.addEperson(adminEmail, { admin: true })
  const { uuid: readerId } = await service.addEperson(readerEmail)
  const [admin, reader] = [service.client(), service.client()]
  await admin.login(adminEmail)
  await reader.login(readerEmail)
  const group = await newGroup(admin, 'Curators')
  const { uuid: item, bundle } = await newItem(admin)
  const file = await upload(admin, bundle, { name: 'a.txt', content: 'hello' })
  assert.equal(file.status, 201, JSON.stringify(file.body))
  const policy = await change(admin, 'post', `/api/authz/resourcepolicies?resource=${item}&group=${group}`, {
    action: 'READ',
  })
  assert.equal(policy.status, 201, JSON.stringify(policy.body))
  await service.addRecords('birds', 'id', [{ id: 1, name: 'Wren' }], 'admin')
  await patchEntity(admin, 'birds', { write: 'admin' })
  await service.addRecords('events', 'id', [{ id: 1 }], 'admin')
  const process = await admin.post('/api/system/scripts/verify/processes')
  const sent = await admin.post('/api/uploads', undefined, { 'tus-resumable': '1.0.0', 'upload-length': '5' })
  const token = await postJson(admin, '/api/authn/tokens', { name: 'of the administrator' })
  const alert = await postJson(admin, '/api/system/systemwidealerts', { message: 'Soon.', active: false })
  for (const made of [token, alert]) assert.equal(made.status, 201)
  const sessions = (await (await admin.get('/api/authn/sessions')).json())._embedded.sessions
  const ids = {
    admin: adminId,
    reader: readerId,
    group,
    item,
    bundle,
    bitstream: file.body.uuid,
    policy: policy.body.id,
    entity: 'birds',
    process: (await process.json()).processId as string,
    upload: (sent.headers.get('location') ?? '').split('/').at(-1) ?? '',
    token: (await token.json()).id as string,
    session: sessions[0].id as string,
    alert: String((await alert.json()).alertId),
  }
  for (const [name, id] of Object.entries(ids)) assert.ok(id, name)
  return {
    service,
    // HEAD is handled by the route of GET.
    routes: withAccess(
      routesOf(service).filter(({ method }) => method !== 'HEAD'),
      (await (await admin.get('/api/openapi.json')).json()) as OpenApi,
    ),
    admin,
    reader,
    ids,
    at: (url, others = {}) => addressOf(url, { ...ids, ...others }),
  }
}

const patchEntity = async (admin: Client, name: string, wanted: object) => {
  const answer = await admin.patch(`/api/admin/entities/${name}`, JSON.stringify(wanted), {
    'content-type': 'application/merge-patch+json',
  })
  assert.equal(answer.status, 200, await answer.text())
}

/** The kinds of ids that follow a part of the address. */
const kinds: readonly (readonly [start: string, id: string])[] = [
  ['/api/eperson/epersons/', 'admin'],
  ['/api/eperson/groups/', 'group'],
  ['/api/core/items/', 'item'],
  ['/api/core/bundles/', 'bundle'],
  ['/api/core/bitstreams/', 'bitstream'],
  ['/signposting/links/', 'item'],
  ['/api/authz/resourcepolicies/', 'policy'],
  ['/api/admin/entities/', 'entity'],
  ['/api/query/v4/', 'entity'],
  ['/api/system/processes/', 'process'],
  ['/api/uploads/', 'upload'],
  ['/api/authn/tokens/', 'token'],
  ['/api/authn/sessions/', 'session'],
  ['/api/system/systemwidealerts/', 'alert'],
]

export function addressOf(url: string, ids: Readonly<Record<string, string>>): string {
  const kind = kinds.find(([start]) => url.startsWith(`${start}:`))
  const first = kind ? url.replace(/:\w+/, ids[kind[1]] ?? 'x') : url
  return first
    .replace(':member', ids.reader ?? 'x')
    .replace(/\/tokens\/:id$/, `/tokens/${ids.token}`)
    .replace('/scripts/:name', '/scripts/verify')
    .replace(/:\w+/g, '1')
    .replace('*', '/1')
}
