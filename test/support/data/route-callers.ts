import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import fc from 'fast-check'
import { commandEvent } from '../../../src/cli/store.ts'
import type { Client } from '../clients/client.ts'
import { addTo, groupsPath, postJson } from '../clients/people.ts'
import { isLong } from '../scale.ts'
import { type Service, startService } from '../service/service.ts'
import { viewerSettings } from './viewers.ts'

/**
 * Every kind of caller, and the rules for reading and writing, written a second time in the simplest way.
 * Nothing of the model comes from src/.
 */

export const entityNames = ['quartz', 'gypsum', 'olivine', 'feldspar', 'magnetite'] as const
export const groupNames = ['Tern', 'Heron', 'Stork', 'Crane'] as const
export const people = ['ada', 'bob', 'eva', 'ida'] as const
export const campus = 'Campus'

interface Rules {
  readonly read: string
  readonly write: string | null
}

/** The random part of a world. */
export interface Plan {
  readonly rules: readonly Rules[]
  /** The groups of which each person is a direct member. */
  readonly members: readonly (readonly string[])[]
  /** Groups in groups; a later one of the list is in an earlier one. */
  readonly inside: readonly (readonly [child: string, parent: string])[]
}

const someGroup = fc.constantFrom(...groupNames, campus).map(name => `group:${name}`)
const plans: fc.Arbitrary<Plan> = fc.record({
  rules: fc.array(
    fc.record({
      read: fc.oneof(fc.constantFrom('anonymous', 'eperson', 'admin'), someGroup),
      write: fc.oneof(fc.constantFrom(null, 'eperson', 'admin'), someGroup),
    }),
    { minLength: entityNames.length, maxLength: entityNames.length },
  ),
  members: fc.array(fc.uniqueArray(fc.constantFrom(...groupNames), { maxLength: 2 }), {
    minLength: people.length,
    maxLength: people.length,
  }),
  inside: fc.uniqueArray(
    fc
      .tuple(fc.nat({ max: groupNames.length }), fc.nat({ max: groupNames.length - 1 }))
      .filter(([child, parent]) => child > parent)
      .map(([child, parent]) => [[...groupNames, campus][child] ?? '', groupNames[parent] ?? ''] as const),
    { maxLength: 5, selector: pair => pair.join() },
  ),
})

/** A plan with each kind of rule, and each way into a group. */
const everyKind: Plan = {
  rules: [
    { read: 'anonymous', write: `group:${campus}` },
    { read: 'eperson', write: 'eperson' },
    { read: 'admin', write: 'admin' },
    { read: 'group:Tern', write: 'group:Heron' },
    { read: 'group:Crane', write: null },
  ],
  members: [['Tern'], ['Heron'], ['Stork'], []],
  inside: [
    ['Heron', 'Tern'],
    ['Stork', 'Heron'],
    [campus, 'Crane'],
  ],
}
/** One fixed plan with everything in CI, and also random ones in the long run. */
export const somePlans = (): readonly Plan[] => [everyKind, ...(isLong ? fc.sample(plans, 12) : [])]

/** The scope of an access token. */
interface Scope {
  readonly methods: readonly string[]
  readonly entities: readonly string[] | null
  readonly parts: readonly string[]
}

export interface Caller {
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  /** The person whose rights apply; null for an anonymous caller. */
  readonly person: string | null
  readonly isAdministrator: boolean
  readonly onCampus: boolean
  readonly isActing: boolean
  readonly scope: Scope | null
}

const reads = ['GET']
const writes = ['GET', 'PUT', 'PATCH', 'DELETE']
const allParts = ['query', 'items', 'people', 'administration', 'processes']

export const ruleOf = ({ rules }: Plan, entity: string): Rules =>
  rules[entityNames.indexOf(entity as never)] ?? { read: 'admin', write: null }

export function groupsOf({ members, inside }: Plan, { person, onCampus }: Caller): ReadonlySet<string> {
  const groups = new Set(members[people.indexOf(person as never)] ?? [])
  if (onCampus) groups.add(campus)
  for (const _ of groupNames) for (const [child, parent] of inside) if (groups.has(child)) groups.add(parent)
  return groups
}

function isAdmitted(plan: Plan, caller: Caller, rule: string): boolean {
  if (rule === 'anonymous' || caller.isAdministrator) return true
  if (rule === 'eperson') return caller.person !== null
  return rule.startsWith('group:') && groupsOf(plan, caller).has(rule.slice('group:'.length))
}

export const mayRead = (plan: Plan, caller: Caller, entity: string) =>
  (caller.scope?.entities?.includes(entity) ?? true) && isAdmitted(plan, caller, ruleOf(plan, entity).read)

export function mayWrite(plan: Plan, caller: Caller, entity: string): boolean {
  const { write } = ruleOf(plan, entity)
  return (
    write !== null &&
    caller.person !== null &&
    mayRead(plan, caller, entity) &&
    isAdmitted(plan, caller, write)
  )
}

/** True if the scope of an access token excludes a request, whatever the rights of its owner. */
export function isOutside({ scope }: Caller, method: string, part: string, entity?: string): boolean {
  if (scope === null) return false
  const needed = method === 'HEAD' || (part === 'query' && method === 'POST') ? 'GET' : method
  if (!scope.parts.includes(part) || !scope.methods.includes(needed)) return true
  return needed !== 'GET' && scope.entities !== null && !scope.entities.includes(entity ?? '')
}

export interface World {
  readonly service: Service
  readonly admin: Client
  readonly callers: readonly Caller[]
  readonly uuids: ReadonlyMap<string, string>
  readonly groups: ReadonlyMap<string, string>
}

export const emailOf = (person: string) => `${person}@example.org`
export const root = 'root'
const elsewhere = { 'x-forwarded-for': '192.0.2.7' }
const onCampus = { 'x-forwarded-for': '10.1.2.3' }

export async function startWorld(t: TestContext): Promise<World> {
  const service = await startService(t, { env: viewerSettings(t) })
  const uuids = new Map<string, string>()
  for (const person of [...people, root])
    uuids.set(person, (await service.addEperson(emailOf(person), { admin: person === root })).uuid)
  const groups = new Map(
    (await service.storage.people.ensureGroups([...groupNames, campus])).map(({ name, uuid }) => [
      name,
      uuid,
    ]),
  )
  for (const entity of entityNames) await service.addRecords(entity, 'id', recordsOf(entity), 'admin')
  for (const [at, entity] of entityNames.entries())
    await service.storage.entities.describe(
      entity,
      {
        relate: {
          fields: ['ref'],
          to: { entity: entityNames[(at + 1) % entityNames.length] ?? '', fields: ['id'] },
        },
      },
      commandEvent('entity.relate'),
    )
  const clients = new Map<string, Client>()
  for (const person of [...people, root]) {
    const client = service.client()
    await client.login(emailOf(person))
    clients.set(person, client)
  }
  const admin = clients.get(root) ?? service.client()
  const bearer = (person: string) => ({ authorization: `Bearer ${clients.get(person)?.token}` })
  const plain = { isAdministrator: false, onCampus: false, isActing: false, scope: null }
  const callers: Caller[] = [
    { ...plain, name: 'nobody', person: null, headers: elsewhere },
    { ...plain, name: 'nobody on campus', person: null, onCampus: true, headers: onCampus },
    ...people.map(person => ({
      ...plain,
      name: person,
      person,
      headers: { ...elsewhere, ...bearer(person) },
    })),
    {
      ...plain,
      name: 'ada on campus',
      person: 'ada',
      onCampus: true,
      headers: { ...onCampus, ...bearer('ada') },
    },
    { ...plain, name: root, person: root, isAdministrator: true, headers: { ...elsewhere, ...bearer(root) } },
    ...[false, true].map(isThere => ({
      ...plain,
      name: `root acting as bob${isThere ? ' on campus' : ''}`,
      person: 'bob',
      isActing: true,
      onCampus: isThere,
      headers: {
        ...(isThere ? onCampus : elsewhere),
        ...bearer(root),
        'x-on-behalf-of': uuids.get('bob') ?? '',
      },
    })),
  ]
  const scopes: readonly (readonly [person: string, scope: Scope])[] = [
    ['ada', { methods: reads, entities: null, parts: allParts }],
    ['ada', { methods: writes, entities: ['quartz', 'gypsum'], parts: ['query'] }],
    ['eva', { methods: writes, entities: null, parts: ['items'] }],
    [root, { methods: writes, entities: ['quartz', 'olivine'], parts: ['query'] }],
    [root, { methods: reads, entities: null, parts: allParts }],
  ]
  for (const [at, [person, scope]] of scopes.entries()) {
    const { methods, entities, parts } = scope
    const wanted = { name: `token ${at}`, methods, ...(entities ? { entities } : { parts }) }
    const made = await postJson(clients.get(person) ?? admin, '/api/authn/tokens', wanted)
    const body = (await made.json()) as { token: string }
    assert.equal(made.status, 201, JSON.stringify(body))
    callers.push({
      ...plain,
      name: `a program of ${person} for ${methods.length} methods of ${entities ?? parts}`,
      person,
      isAdministrator: person === root,
      headers: { ...elsewhere, authorization: `Bearer ${body.token}` },
      scope,
    })
  }
  return { service, admin, callers, uuids, groups }
}

export const recordsOf = (entity: string) => [1, 2].map(id => ({ id, secret: secretOf(entity), ref: id }))
export const secretOf = (entity: string) => `the secret of ${entity}`

/** Carries out a plan over HTTP, as an administrator. */
export async function carryOut({ service, admin, uuids, groups }: World, plan: Plan): Promise<void> {
  for (const entity of entityNames) {
    const { read, write } = ruleOf(plan, entity)
    const answer = await admin.patch(`/api/admin/entities/${entity}`, JSON.stringify({ read, write }), {
      'content-type': 'application/merge-patch+json',
    })
    assert.equal(answer.status, 200, await answer.text())
  }
  for (const name of groupNames) {
    const path = `${groupsPath}/${groups.get(name)}`
    for (const person of people) await admin.delete(`${path}/epersons/${uuids.get(person)}`)
    for (const child of [...groupNames, campus]) await admin.delete(`${path}/subgroups/${groups.get(child)}`)
  }
  for (const [at, person] of people.entries())
    for (const group of plan.members[at] ?? []) {
      const path = `${groupsPath}/${groups.get(group)}/epersons`
      assert.equal((await addTo(admin, path, `/api/eperson/epersons/${uuids.get(person)}`)).status, 204)
    }
  for (const [child, parent] of plan.inside) {
    const path = `${groupsPath}/${groups.get(parent)}/subgroups`
    assert.equal((await addTo(admin, path, `/api/eperson/groups/${groups.get(child)}`)).status, 204)
  }
  assert.ok(service.address)
}

export interface Answer {
  readonly status: number
  readonly code: string | null
  readonly body: string
  readonly headers: Headers
}

export interface Asking {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export async function ask(
  { service }: World,
  caller: Caller,
  path: string,
  asking: Asking = {},
): Promise<Answer> {
  const { method = 'GET', headers = {}, body } = asking
  const response = await fetch(service.address + path, {
    method,
    // The same id each time, so that answers can be compared.
    headers: { 'x-request-id': 'asked', ...headers, ...caller.headers },
    ...(body === undefined ? {} : { body }),
  })
  const text = await response.text()
  const isProblem =
    response.headers.get('content-type')?.startsWith('application/problem') || response.status >= 400
  const code = isProblem && text.startsWith('{') ? (JSON.parse(text) as { code?: string }).code : undefined
  return { status: response.status, code: code ?? null, body: text, headers: response.headers }
}
