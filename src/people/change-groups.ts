import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Config, specialGroupNames } from '../config/config.ts'
import { type Body, changes, jsonOf, patchOf, urisOf } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { eventOf } from '../http/audit.ts'
import { contractsIn, type Routes, routesOf } from '../http/contract.ts'
import { jsonObject } from '../http/json-body.ts'
import { type Operation, patchBody, patchRefused } from '../http/json-patch.ts'
import { Problem } from '../http/problems.ts'
import { groupBody } from '../http/resources/people.ts'
import { uuidsOf } from '../http/uri-list.ts'
import { quantity } from '../lib/quantities.ts'
import { readUuid } from '../lib/uuids.ts'
import { administratorGroup, type GroupDetails } from '../model/accounts.ts'
import type { AuditEvent } from '../model/audit-events.ts'
import {
  type GroupChange,
  type GroupUse,
  maxLevels,
  type NewGroup,
  type OneRefused,
} from '../model/people.ts'
import { type Fields, metadataChange, metadataOf, textUpTo, type Values } from './single-metadata.ts'
import type { People } from './statements.ts'

const route = contractsIn(() => import('./contracts.ts'))
const byAdministrators = (body: Body) => changes('administrator', 'none', body, { to: 'change groups' })

interface Parts {
  readonly people: People
  readonly addresses: Addresses
  readonly config: Config
}

const refused = (why: string) => new Problem('change-refused', why)
const noGroup = () => new Problem('not-found', 'There is no group with this UUID.')
const lastAdministrator = () =>
  refused('Nobody could administer the service any more: no administrator who may log in would be left.')

const path = '/eperson/groups'
const url = `${path}/:uuid` as const

/** Changes of groups by administrators (M4–M8), below `/api/eperson/groups`. */
export function changeGroupRoutes(app: FastifyInstance, parts: Parts): void {
  groupRoutes(routesOf(app), parts)
  memberRoutes(routesOf(app), parts)
}

const eventIn = (request: FastifyRequest, event: AuditEvent['event']) =>
  eventOf(request.caller, request, { event, outcome: 'success' })

async function groupIn(
  people: People,
  { params }: { readonly params: { readonly uuid: string } },
): Promise<GroupDetails> {
  const uuid = readUuid(params.uuid)
  const group = uuid === undefined ? undefined : await people.group(uuid)
  if (!group) throw noGroup()
  return group
}

function groupRoutes(routes: Routes, { people, addresses, config }: Parts): void {
  const specials = specialGroupNames(config)
  function refuseFixed({ name }: GroupDetails, how: string): void {
    if (name === administratorGroup) throw refused(`The group ${name} is permanent: it can’t be ${how}.`)
    if (specials.has(name))
      throw refused(
        `The group can’t be ${how}: special groups in the configuration of the service name it, and the next start would add it again.`,
      )
  }

  routes.post(path, route('addGroup', byAdministrators(jsonOf())), async (request, reply) => {
    const event = eventIn(request, 'group.add')
    const added = await people.createGroup(newGroup(jsonObject(request)), event)
    if (added === 'exists') throw refused('There is a group of this name already.')
    return reply
      .code(201)
      .header('location', addresses.group(added.uuid))
      .send(groupBody(added, { addresses, config }))
  })

  routes.patch(url, route('changeGroup', byAdministrators(patchOf())), async request => {
    const event = eventIn(request, 'group.change')
    const group = await groupIn(people, request)
    const change = groupChange(patchBody(request))
    if (change.name !== undefined && change.name !== group.name) refuseFixed(group, 'renamed')
    const changed = await people.changeGroup(group.uuid, change, event)
    if (changed === 'no-group') throw noGroup()
    if (changed === 'exists') throw refused('There is a group of this name already.')
    if ('entities' in changed) throw inUse(changed, 'renamed')
    return groupBody(changed, { addresses, config })
  })

  routes.delete(url, route('deleteGroup', byAdministrators('unused')), async (request, reply) => {
    const event = eventIn(request, 'group.delete')
    const group = await groupIn(people, request)
    refuseFixed(group, 'deleted')
    const removed = await people.removeGroup(group.uuid, event)
    if (removed === 'no-group') throw noGroup()
    if (removed === 'last-administrator') throw lastAdministrator()
    if (removed !== 'changed') throw inUse(removed, 'deleted')
    return reply.code(204).send()
  })
}

/** Routes that add epersons and groups to a group, and remove them. */
function memberRoutes(routes: Routes, { people, config }: Parts): void {
  const specials = specialGroupNames(config)
  routes.post(`${url}/epersons`, route('addMembers', byAdministrators(urisOf())), async (request, reply) => {
    const { uuid, name } = await groupIn(people, request)
    if (specials.has(name)) throw inSpecial('nobody')
    const epersons = uuidsOf(request, '/eperson/epersons/')
    const added = await people.addMembers(uuid, epersons, eventIn(request, 'group.join'))
    if (added === 'no-group') throw noGroup()
    if (added !== 'changed') throw partRefused(added)
    return reply.code(204).send()
  })
  routes.delete(
    `${url}/epersons/:member`,
    route('removeMember', byAdministrators('unused')),
    async (request, reply) => {
      const { uuid } = await groupIn(people, request)
      const member = readUuid(request.params.member) ?? '-'
      const removed = await people.setMember(false, uuid, member, eventIn(request, 'group.leave'))
      if (removed === 'no-group') throw noGroup()
      if (removed !== 'changed' && removed !== 'unchanged') throw partRefused({ why: removed, uuid: member })
      return reply.code(204).send()
    },
  )

  routes.post(
    `${url}/subgroups`,
    route('addSubgroups', byAdministrators(urisOf())),
    async (request, reply) => {
      const { uuid, name } = await groupIn(people, request)
      if (specials.has(name)) throw inSpecial('no group')
      const children = uuidsOf(request, '/eperson/groups/')
      const added = await people.addSubgroups(uuid, children, eventIn(request, 'group.include'))
      if (added === 'no-group') throw noGroup()
      if (added !== 'changed') throw partRefused(added)
      return reply.code(204).send()
    },
  )
  routes.delete(
    `${url}/subgroups/:member`,
    route('removeSubgroup', byAdministrators('unused')),
    async (request, reply) => {
      const { uuid } = await groupIn(people, request)
      const member = readUuid(request.params.member) ?? '-'
      const removed = await people.setSubgroup(false, uuid, member, eventIn(request, 'group.exclude'))
      if (removed === 'no-group') throw noGroup()
      if (removed !== 'changed' && removed !== 'unchanged') throw partRefused({ why: removed, uuid: member })
      return reply.code(204).send()
    },
  )
}

const inSpecial = (who: string) =>
  refused(
    `This is a special group: the configuration of the service says who is in it, and ${who} can be added by hand.`,
  )

function partRefused({
  why,
  uuid,
}: OneRefused<'no-eperson' | 'no-subgroup' | 'circle' | 'too-deep' | 'last-administrator'>): Problem {
  switch (why) {
    case 'no-eperson':
      return refused(`There is no eperson ${uuid}.`)
    case 'no-subgroup':
      return refused(`There is no group ${uuid}.`)
    case 'circle':
      return refused(`The group ${uuid} can’t be in this one: this one is in it, or it is the same group.`)
    case 'too-deep':
      return refused(`Groups can be in groups through at most ${maxLevels} levels.`)
    case 'last-administrator':
      return lastAdministrator()
  }
}

/** Describes where a group is in use, with the first few entities by name. */
export function placesOf({ entities, items, bitstreams }: GroupUse): string {
  const shown = entities.slice(0, 5)
  const more = entities.length - shown.length
  const count = (number: number, what: string) => (number === 0 ? [] : [quantity(number, what)])
  return [
    ...shown.map(entity => `the entity ${entity}`),
    ...(more > 0 ? [`${more} more`] : []),
    ...count(items, 'item'),
    ...count(bitstreams, 'file'),
  ].join(', ')
}

const inUse = (use: GroupUse, how: string) =>
  refused(
    `The group can’t be ${how}: ${placesOf(use)} can be read by it, by its name. Change their access first.`,
  )

/** Groups as DSpace's clients write them. */

const description = 'dc.description'
const fields: Fields = new Map([[description, textUpTo(4_000)]])
const maxName = 250

/** Reads the group in the body of a POST. @throws Problem 422 */
function newGroup(body: Readonly<Record<string, unknown>>): NewGroup {
  const fault = (why: string) => new Problem('change-refused', why)
  if (body.permanent === true) throw fault('No other group can be permanent.')
  const values = metadataOf(body.metadata, fields)
  return { name: nameOf(body.name, fault), description: values[description] ?? null }
}

/** Reads the changes that a JSON Patch makes to a group. @throws Problem 422 */
function groupChange(operations: readonly Operation[]): GroupChange {
  if (operations.length === 0) throw patchRefused(null, 'The patch has no operations.')
  return Object.assign({}, ...operations.map(changeOf)) as GroupChange
}

function changeOf(operation: Operation): GroupChange {
  const { index, op, path, value } = operation
  const fault = (why: string) => patchRefused(index, why)
  if (path[0] === 'metadata') return described(metadataChange(operation, fields))
  if (path.length !== 1 || path[0] !== 'name') throw fault(`a group has /name and /metadata/${description}.`)
  if (op !== 'replace' && op !== 'add') throw fault('/name takes replace, with a value.')
  return { name: nameOf(value, fault) }
}

const described = (values: Values): GroupChange =>
  description in values ? { description: values[description] ?? null } : {}

function nameOf(given: unknown, fault: (why: string) => Problem): string {
  if (typeof given !== 'string' || given.trim() === '') throw fault('A group needs a name.')
  const name = given.trim()
  const wrong = textUpTo(maxName)(name)
  if (wrong !== undefined) throw fault(`The name ${wrong}.`)
  if (/[\r\n\t]/.test(name)) throw fault('The name has a line break or a tab.')
  return name
}
