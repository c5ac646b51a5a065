import assert from 'node:assert/strict'
import { postJson } from '../support/clients/people.ts'
import { addItem, membersOf } from '../support/data/repository.ts'
import {
  type Answer,
  ask,
  type Caller,
  campus,
  carryOut,
  emailOf,
  entityNames,
  groupNames,
  groupsOf,
  isOutside,
  type Plan,
  people,
  root,
  somePlans,
  startWorld,
  type World,
} from '../support/data/route-callers.ts'
import { isLong } from '../support/scale.ts'
import { test } from '../support/service/engines.ts'

interface Things {
  readonly world: World
  readonly plan: Plan
  /** Ids of objects that belong to root. */
  readonly process: string
  readonly token: string
  readonly item: string
}

const nothing = '00000000-0000-4000-8000-000000000000'
const tokenNames = ['token 0', 'token 1', 'token 2', 'token 3', 'token 4', 'token 5']
const allGroups = [...groupNames, campus, 'Administrator', 'Local']
const everybody = [...people, root]
/** Groups whose lists of members are checked: in CI one with a group in it, and one without members. */
const askedGroups = isLong ? groupNames : ([groupNames[0], groupNames[3]] as const)

/** The part of the API that an access token needs; null if no access token is accepted. */
type Part = string | null

interface List {
  readonly path: string
  readonly part: Part
  /** The names that an administrator sees in the list. */
  readonly names: readonly string[]
  /** The path for another object, for which a caller without the right must get the same answer. */
  readonly twin?: string
}

function listsOf({ world, plan, process }: Things): readonly List[] {
  const group = (name: string) => world.groups.get(name) ?? ''
  const uuid = (person: string) => world.uuids.get(person) ?? ''
  const inside = (name: string) => people.filter((_, at) => plan.members[at]?.includes(name))
  const of = (path: string, part: Part, names: readonly string[], twin?: string): List => ({
    ...{ path, part, names },
    ...(twin !== undefined && { twin }),
  })
  const [search, groups] = ['/api/eperson/epersons/search', '/api/eperson/groups']
  return [
    of('/api/admin/entities', 'administration', [
      ...entityNames,
      ...['audit-events', 'bitstreams', 'epersons', 'groups', 'items'],
    ]),
    of('/api/admin/tokens', 'administration', tokenNames),
    of('/api/system/processes', 'processes', [process]),
    of(
      `/api/system/processes/search/byProperty?userId=${uuid(root)}`,
      'processes',
      [process],
      `/api/system/processes/search/byProperty?userId=${nothing}`,
    ),
    of('/api/eperson/epersons', 'people', everybody.map(emailOf)),
    of(`${search}/byMetadata?query=Bob`, 'people', [emailOf('bob')], `${search}/byMetadata?query=zz`),
    ...askedGroups.flatMap(name => [
      of(
        `${search}/isMemberOf?query=&group=${group(name)}`,
        'people',
        inside(name).map(emailOf),
        `${search}/isMemberOf?query=&group=${nothing}`,
      ),
      of(
        `${search}/isNotMemberOf?query=&group=${group(name)}`,
        'people',
        everybody.filter(person => !inside(name).includes(person as never)).map(emailOf),
        `${search}/isNotMemberOf?query=&group=${nothing}`,
      ),
      of(
        `${groups}/${group(name)}/epersons`,
        'people',
        inside(name).map(emailOf),
        `${groups}/${nothing}/epersons`,
      ),
    ]),
    of(groups, 'people', allGroups),
    of(`${groups}/search/byMetadata?query=tern`, 'people', ['Tern'], `${groups}/search/byMetadata?query=zz`),
  ]
}

const namesIn = ({ body }: Answer): readonly string[] => {
  const { _embedded, page } = JSON.parse(body) as {
    _embedded: Record<string, { name?: string; processId?: string | number }[]>
    page: { totalElements: number }
  }
  const names = Object.values(_embedded).flatMap(all =>
    all.map(({ name, processId }) => name ?? String(processId)),
  )
  assert.equal(page.totalElements, names.length)
  return names.toSorted()
}

const outcome = ({ status, code }: Answer) => [status, code]
/** Returns the parts of an answer that must not tell objects apart, without the path of the request. */
const rest = ({ status, body, headers }: Answer, path: string) =>
  JSON.stringify([
    status,
    body.replaceAll(path.replace(/\?.*/, ''), '<path>'),
    headers.get('etag'),
    headers.get('link'),
    headers.get('allow'),
    headers.get('x-records'),
  ])

const refusal = ({ person }: Caller): readonly [number, string] =>
  person === null ? [401, 'authentication-required'] : [403, 'access-denied']
const tokenRefused = [403, 'access-token-refused']

const isRefusedToken = (caller: Caller, part: Part) =>
  caller.scope !== null && (part === null || isOutside(caller, 'GET', part))

async function checkLists(things: Things, caller: Caller): Promise<void> {
  const { world } = things
  for (const { path, part, names, twin = path } of listsOf(things)) {
    const paged = (path: string) => `${path}${path.includes('?') ? '&' : '?'}size=100`
    const answer = await ask(world, caller, paged(path))
    const what = `${caller.name}: ${path}: ${answer.body}`
    if (isRefusedToken(caller, part)) assert.deepEqual(outcome(answer), tokenRefused, what)
    else if (caller.isAdministrator) assert.deepEqual(namesIn(answer), names.toSorted(), what)
    else {
      assert.deepEqual(outcome(answer), refusal(caller), what)
      assert.equal(rest(await ask(world, caller, paged(twin)), twin), rest(answer, path), what)
    }
  }
}

interface Single {
  readonly path: string
  readonly twin: string
  readonly part: Part
  /** True if this caller sees it; administrators always do. */
  readonly isSeen: boolean
  /** The answer for callers who may not know if it exists. */
  readonly hidden?: readonly [number, string]
}

function singlesOf({ world, plan, process, item }: Things, caller: Caller): readonly Single[] {
  const { groups, uuids } = world
  const single = (base: string, id: string, part: Part, isSeen: boolean, below = '', none = nothing) => ({
    ...{ path: `${base}/${id}${below}`, twin: `${base}/${none}${below}`, part, isSeen },
  })
  const gone = { hidden: [404, 'not-found'] as const }
  return [
    ...everybody.flatMap(person =>
      ['', '/groups'].map(below =>
        single('/api/eperson/epersons', uuids.get(person) ?? '', 'people', caller.person === person, below),
      ),
    ),
    ...[...groups].flatMap(([name, uuid]) => {
      const isIn = caller.person !== null && groupsOf(plan, caller).has(name)
      return ['', '/subgroups', '/object'].map(below =>
        single('/api/eperson/groups', uuid, 'people', isIn, below),
      )
    }),
    ...['', '/log', '/files', '/filetypes', '/output', '/events'].map(below =>
      single('/api/system/processes', process, 'processes', false, below, '999999'),
    ),
    { ...single('/api/query/v4/epersons', uuids.get('ada') ?? '', 'query', false) },
    { ...single('/api/query/v4/groups', groups.get('Tern') ?? '', 'query', false) },
    { ...single('/api/query/v4/items', item, 'query', groupsOf(plan, caller).has('Tern')), ...gone },
  ]
}

async function checkSingles(things: Things, caller: Caller): Promise<void> {
  const { world } = things
  for (const { path, twin, part, isSeen, hidden = refusal(caller) } of singlesOf(things, caller)) {
    // The stream goes on as long as it is read.
    if (path.endsWith('/events') && caller.isAdministrator) continue
    const answer = await ask(world, caller, path)
    const what = `${caller.name}: ${path}: ${answer.status} ${answer.body}`
    const isForEntity = caller.scope?.entities && part === 'query'
    if (isRefusedToken(caller, part)) assert.deepEqual(outcome(answer), tokenRefused, what)
    else if (isForEntity) assert.deepEqual(outcome(answer), [403, 'access-denied'], what)
    else if (caller.isAdministrator || isSeen) assert.ok([200, 204].includes(answer.status), what)
    else {
      assert.deepEqual(outcome(answer), hidden, what)
      const other = await ask(world, caller, twin)
      assert.equal(
        rest(other, twin).replaceAll(nothing, '<id>'),
        rest(answer, path).replaceAll(/[0-9a-f]{8}-[-0-9a-f]{27}/g, '<id>'),
        what,
      )
    }
  }
}

/** Checks objects that belong to the caller, which no other caller may see. */
async function checkOwn({ world, token, plan }: Things, caller: Caller): Promise<void> {
  const own = [
    '/api/authn/tokens',
    '/api/authn/sessions',
    `/api/authn/tokens/${token}`,
    '/api/authn/sessions/7',
  ]
  const [tokens, sessions, ofRoot, unknown] = (await Promise.all(
    own.map(path => ask(world, caller, path)),
  )) as [Answer, Answer, Answer, Answer]
  const what = `${caller.name}: ${tokens.body} ${sessions.body} ${ofRoot.body}`
  for (const answer of [tokens, sessions, ofRoot, unknown])
    if (caller.scope !== null) assert.deepEqual(outcome(answer), tokenRefused, what)
    else if (caller.person === null || caller.isActing) assert.ok([401, 403].includes(answer.status), what)
  if (caller.scope === null && caller.person !== null && !caller.isActing) {
    const [count] = [{ ada: 2, eva: 1, root: 3 }[caller.person] ?? 0]
    assert.equal(namesIn(tokens).length, count, what)
    assert.equal(sessions.status, 200, what)
    assert.equal(ofRoot.status, caller.person === root ? 200 : 404, what)
    assert.equal(unknown.status, 404, what)
  }
  const processes = await ask(world, caller, '/api/system/processes/search/own')
  if (isRefusedToken(caller, 'processes')) assert.deepEqual(outcome(processes), tokenRefused, what)
  else if (caller.person === null) assert.equal(processes.status, 401, what)
  else assert.equal(namesIn(processes).length, caller.person === root ? 1 : 0, processes.body)
  await checkEvents(world, caller)
  assert.ok(plan)
}

/** Checks the audit trail: administrators see everything, others the events about themselves. */
async function checkEvents(world: World, caller: Caller): Promise<void> {
  const path = '/api/query/v4/audit-events?include_total=true'
  const answer = await ask(world, caller, path)
  const what = `${caller.name}: ${answer.body.slice(0, 500)}`
  if (isRefusedToken(caller, 'query')) return assert.deepEqual(outcome(answer), tokenRefused, what)
  if (caller.person === null) return assert.equal(answer.status, 401, what)
  if (caller.scope?.entities) return assert.equal(answer.status, 403, what)
  const administrator = world.callers.find(one => one.name === root) as Caller
  const uuid = world.uuids.get(caller.person)
  const everything = JSON.parse((await ask(world, administrator, path)).body) as {
    id: number
    eperson: string | null
    actor: string | null
    client_ip: string | null
    request: string | null
  }[]
  const seen = JSON.parse(answer.body) as typeof everything
  assert.equal(answer.headers.get('x-records'), String(seen.length), what)
  const last = seen.at(-1)?.id ?? 0
  assert.deepEqual(
    seen,
    everything
      .filter(({ id, eperson }) => id <= last && (caller.isAdministrator || eperson === uuid))
      // If another person acted, their address and the id of their request are hidden.
      .map(one =>
        caller.isAdministrator || one.actor === uuid ? one : { ...one, client_ip: null, request: null },
      ),
    what,
  )
  const other = everything.find(({ eperson }) => eperson !== uuid)
  if (caller.isAdministrator || !other) return
  const [hidden, none] = await Promise.all(
    [other.id, 999_999].map(id => ask(world, caller, `/api/query/v4/audit-events/${id}`)),
  )
  assert.deepEqual([hidden?.status, none?.status], [404, 404], what)
  assert.equal(hidden?.body.replaceAll(`${other.id}`, '999999'), none?.body, what)
}

test('Q11 F1 K2 N1 B3 every list and every object of people, tokens, processes and events is what a plain model says', async t => {
  const world = await startWorld(t)
  const begun = await world.admin.post('/api/system/scripts/verify/processes')
  const process = String(((await begun.json()) as { processId: string | number }).processId)
  const made = await postJson(world.admin, '/api/authn/tokens', { name: 'token 5' })
  const { id: token } = (await made.json()) as { id: string }
  const { uuid: item } = await addItem(world.service, {
    identifier: 'test/1',
    readers: membersOf('Tern'),
  })
  assert.ok(process && token)
  for (const plan of somePlans()) {
    await carryOut(world, plan)
    const things = { world, plan, process, token, item }
    for (const caller of world.callers) {
      await checkLists(things, caller)
      await checkSingles(things, caller)
      await checkOwn(things, caller)
    }
  }
})
