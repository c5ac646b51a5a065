import type { FastifyInstance, FastifyRequest } from 'fastify'
import { eventOf } from '../authn/audit.ts'
import type { SpecialGroupConfig } from '../config/special-groups.ts'
import { groupBody } from '../dspace/epersons.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn } from '../http/contract.ts'
import { halPart, readPage, windowOf } from '../http/hal.ts'
import { type Query, single, uuidIn } from '../http/parameters.ts'
import { patchBody } from '../http/patch-body.ts'
import { Problem } from '../http/problems.ts'
import { requireAdministrator } from '../http/require-eperson.ts'
import { administratorGroup, type Group } from '../model/accounts.ts'
import { groupOfOpenReader, openReader } from '../model/open-groups.ts'
import { groupOf } from '../model/read-rules.ts'
import type { ReaderRule } from '../model/readers.ts'
import type { Accounts } from '../storage/accounts.ts'
import type { Part, Window } from '../storage/window.ts'
import { bodyLimit, patchBounds, readAddressedUuid, readObject, takeUriLists } from './bodies.ts'
import { type ListedPolicyStore, policiesOfObject, policiesOfReader } from './policy-lists.ts'
import { type EditedObject, editPolicies, findObject } from './policy-objects.ts'
import {
  actionOf,
  changedRule,
  newPolicyId,
  type Policy,
  type PolicyValues,
  readPolicyId,
  readPolicyValue,
} from './policy-rules.ts'
import { writeHooks } from './rights.ts'

const route = contractsIn(() => import('./policy-contracts.ts'))

interface Parts extends ListedPolicyStore {
  readonly accounts: Pick<Accounts, 'groupsByName' | 'groupsByUuid'>
  readonly addresses: Addresses
  readonly config: SpecialGroupConfig
}
type Route = { Params: { id: string } }

const members = ['name', 'description', 'policyType', 'action', 'startDate', 'endDate']

/** `/api/authz/resourcepolicies`: who may read an item or a file, and who may change an item. For administrators. */
export function policyRoutes(app: FastifyInstance, { accounts, addresses, config, repository }: Parts): void {
  takeUriLists(app)
  const path = '/authz/resourcepolicies'
  const url = `${path}/:id`
  const all = `${addresses.api}${path}`
  const options = { preParsing: [...writeHooks], bodyLimit }
  const store = { repository }
  const administrator = ({ caller }: FastifyRequest) =>
    requireAdministrator(caller, 'see and change policies')

  /** The groups that policies are for, by the reader of their rules. */
  async function groupsOf(
    policies: readonly Policy[],
  ): Promise<(reader: ReaderRule['reader']) => Group | null> {
    const names = new Set(policies.flatMap(({ rule }) => groupOf(rule.reader) ?? []))
    const groups = new Map((await accounts.groupsByName([...names])).map(one => [one.name, one]))
    return reader => groupOfOpenReader(reader) ?? groups.get(groupOf(reader) ?? '') ?? null
  }

  const bodyOf = (groupFor: (reader: ReaderRule['reader']) => Group | null) => (policy: Policy) => {
    const { id, rule, name, description, type } = policy
    const self = `${all}/${id}`
    const group = groupFor(rule.reader)
    return {
      id,
      name,
      description,
      policyType: type,
      action: actionOf(rule),
      startDate: rule.from ?? null,
      endDate: rule.until ?? null,
      type: 'resourcepolicy',
      _links: {
        eperson: { href: `${self}/eperson` },
        group: { href: `${self}/group` },
        resource: { href: `${self}/resource` },
        self: { href: self },
      },
      _embedded: { group: group && groupBody(group, { addresses, config }), eperson: null },
    }
  }
  const bodyOfOne = async (policy: Policy) => bodyOf(await groupsOf([policy]))(policy)

  async function found(text: string): Promise<{ object: EditedObject; policy: Policy }> {
    const id = readPolicyId(text)
    const object = id && (await findObject(store, id.object))
    const policy = object?.policies.find(one => one.id === id?.id)
    if (!object || !policy) throw new Problem('not-found', 'There is no policy with this id.')
    return { object, policy }
  }

  async function page(
    request: FastifyRequest,
    name: string,
    list: (window: Window) => Promise<Part<Policy>>,
  ) {
    const query = request.query as Query
    const wanted = readPage(query)
    const { rows, total } = await list(windowOf(wanted))
    const bodies = rows.map(bodyOf(await groupsOf(rows)))
    return halPart('resourcepolicies', bodies, total, wanted, `${all}/search/${name}`)
  }

  app.get(`${path}/search/resource`, route('listPoliciesOfObject'), async request => {
    administrator(request)
    const query = request.query as Query
    const uuid = uuidIn(query, 'uuid')
    const action = single(query, 'action')
    const isWanted = ({ rule }: Policy) => !action || actionOf(rule) === action
    return page(request, 'resource', window => policiesOfObject(store, uuid, isWanted, window))
  })
  app.get(`${path}/search/group`, route('listPoliciesOfGroup'), async request => {
    administrator(request)
    const query = request.query as Query
    const reader = await readerOf(uuidIn(query, 'uuid'))
    if (!single(query, 'resource'))
      return page(request, 'group', window => policiesOfReader(store, reader, window))
    const uuid = uuidIn(query, 'resource')
    const isWanted = ({ rule }: Policy) => rule.reader === reader
    return page(request, 'group', window => policiesOfObject(store, uuid, isWanted, window))
  })
  // No rule names an eperson.
  app.get(`${path}/search/eperson`, route('listPoliciesOfEperson'), async request => {
    administrator(request)
    return page(request, 'eperson', async () => ({ rows: [], total: 0 }))
  })
  app.get<Route>(url, route('showPolicy'), async request => {
    administrator(request)
    return bodyOfOne((await found(request.params.id)).policy)
  })
  app.get<Route>(`${url}/group`, route('showGroupOfPolicy'), async (request, reply) => {
    administrator(request)
    const { policy } = await found(request.params.id)
    const group = (await groupsOf([policy]))(policy.rule.reader)
    return group ? groupBody(group, { addresses, config }) : reply.code(204).send()
  })
  app.get<Route>(`${url}/eperson`, route('showEpersonOfPolicy'), async (request, reply) => {
    administrator(request)
    await found(request.params.id)
    return reply.code(204).send()
  })
  app.get<Route>(`${url}/resource`, route('showObjectOfPolicy'), async (request, reply) => {
    administrator(request)
    const { object } = await found(request.params.id)
    return reply.redirect(`${addresses.api}/core/${object.isItem ? 'items' : 'bitstreams'}/${object.uuid}`)
  })

  /** @throws Problem 422 for a group that rules can't name */
  async function readerOf(uuid: string): Promise<ReaderRule['reader']> {
    const open = openReader(uuid)
    if (open) return open
    const [group] = await accounts.groupsByUuid([uuid])
    if (!group) throw new Problem('change-refused', 'There is no group with this UUID.')
    if (group.name === administratorGroup)
      throw new Problem(
        'change-refused',
        'Administrators may read and change everything; no policy is needed.',
      )
    return `group:${group.name}`
  }

  const noEpersons = () =>
    new Problem(
      'change-refused',
      'Policies of Carrel name groups, not single epersons. Put the eperson into a group.',
    )

  app.post(path, { ...options, ...route('addPolicy') }, async (request, reply) => {
    administrator(request)
    const query = request.query as Query
    if (single(query, 'eperson')) throw noEpersons()
    const object = uuidIn(query, 'resource')
    const reader = await readerOf(uuidIn(query, 'group'))
    const body = readObject(request)
    const values = valuesOf(members.map(name => [name, body[name] ?? (name === 'action' ? 'READ' : null)]))
    const { name = null, description = null, type = null } = values
    const id = newPolicyId(object)
    const event = eventOf(request.caller, request, { event: 'item.access', outcome: 'success' })
    await editPolicies(store, object, event, ({ isItem, policies }) => [
      ...policies,
      { id, rule: changedRule({ reader }, values, isItem), name, description, type },
    ])
    return reply
      .code(201)
      .header('location', `${all}/${id}`)
      .send(await bodyOfOne((await found(id)).policy))
  })

  /** Changes one policy. */
  async function edit(
    request: FastifyRequest<Route>,
    change: (policy: Policy, isItem: boolean) => readonly Policy[],
  ) {
    const { object } = await found(request.params.id)
    const id = readPolicyId(request.params.id)?.id
    const event = eventOf(request.caller, request, { event: 'item.access', outcome: 'success' })
    await editPolicies(store, object.uuid, event, ({ isItem, policies }) => {
      if (!policies.some(one => one.id === id))
        throw new Problem('not-found', 'There is no policy with this id any more.')
      return policies.flatMap(one => (one.id === id ? change(one, isItem) : [one]))
    })
  }

  app.patch<Route>(url, { ...options, ...route('changePolicy') }, async request => {
    administrator(request)
    const operations = patchBody(request, patchBounds)
    const values = valuesOf(
      operations.map(({ op, path: [member = '', ...more], value }) => {
        if (op === 'move' || op === 'copy' || op === 'test' || more.length > 0)
          throw new Problem(
            'patch-refused',
            `A policy takes add, replace and remove of ${members.join(', ')}.`,
          )
        return [member, op === 'remove' ? null : value]
      }),
    )
    await edit(request, ({ rule, ...note }, isItem) => {
      const { name = note.name, description = note.description, type = note.type } = values
      return [{ ...note, name, description, type, rule: changedRule(rule, values, isItem) }]
    })
    return bodyOfOne((await found(request.params.id)).policy)
  })
  app.put<Route>(`${url}/group`, { ...options, ...route('setGroupOfPolicy') }, async (request, reply) => {
    administrator(request)
    const reader = await readerOf(readAddressedUuid(request, '/eperson/groups/'))
    await edit(request, (policy, isItem) => [
      { ...policy, rule: changedRule({ ...policy.rule, reader }, {}, isItem) },
    ])
    return reply.code(204).send()
  })
  app.put<Route>(`${url}/eperson`, { ...options, ...route('setEpersonOfPolicy') }, async request => {
    administrator(request)
    throw noEpersons()
  })
  app.delete<Route>(url, { ...options, ...route('deletePolicy') }, async (request, reply) => {
    administrator(request)
    await edit(request, () => [])
    return reply.code(204).send()
  })
}

const valuesOf = (given: readonly (readonly [member: string, value: unknown])[]): PolicyValues =>
  Object.assign({}, ...given.map(([member, value]) => readPolicyValue(member, value)))
