import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SpecialGroupConfig } from '../../config/config.ts'
import { type Body, changes, jsonOf, patchOf, reads, urisOf } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { eventOf } from '../../http/audit.ts'
import { contractsIn, type Routes, routesOf } from '../../http/contract.ts'
import { halPart, readPage, windowOf } from '../../http/hal.ts'
import { jsonObject } from '../../http/json-body.ts'
import { patchBody } from '../../http/json-patch.ts'
import { badParameter, type Query, single, uuidIn } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { epersonBody, groupBody } from '../../http/resources/people.ts'
import { readAddressedUuid, takeUriLists } from '../../http/uri-list.ts'
import type { Eperson, Group } from '../../model/accounts.ts'
import type { Part, Window } from '../../storage/storage.ts'
import { bodyLimit, patchBounds } from './outcomes.ts'
import { type ListedPolicyStore, policiesOfObject, policiesOfReader } from './policy-lists.ts'
import {
  actionOf,
  articles,
  changedRule,
  type EditedObject,
  editPolicies,
  findObject,
  type KnownPeople,
  kindOf,
  kinds,
  newPolicyId,
  type Policy,
  type PolicyValues,
  type Recipients,
  readerOf,
  readPolicyId,
  readPolicyValue,
  recipientsOf,
} from './policy-rules.ts'

const route = contractsIn(() => import('./policy-contracts.ts'))
const to = 'see and change policies'
const toAdministrators = reads('administrator', 'items', { to })
const byAdministrators = (body: Body) => changes('administrator', 'items', body, { to })

interface Parts extends ListedPolicyStore {
  readonly people: KnownPeople
  readonly addresses: Addresses
  readonly asksAgreement: boolean
  readonly config: SpecialGroupConfig
}
type Route = { Params: { id: string } }

const path = '/authz/resourcepolicies'
const url = `${path}/:id`
const members = ['name', 'description', 'policyType', 'action', 'startDate', 'endDate']

/** Functions that the routes of policies share. */
function policiesIn({ people, addresses, asksAgreement, config, repository }: Parts) {
  const all = `${addresses.api}${path}`
  const store = { repository }

  const bodyOfGroup = (group: Group) => groupBody(group, { addresses, config })
  const bodyOfEperson = (eperson: Eperson) => epersonBody(eperson, addresses, asksAgreement)

  const bodyOf = (recipients: Recipients) => (policy: Policy) => {
    const { id, rule, name, description, type } = policy
    const self = `${all}/${id}`
    const group = recipients.group(rule)
    const eperson = recipients.eperson(rule)
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
      _embedded: { group: group && bodyOfGroup(group), eperson: eperson && bodyOfEperson(eperson) },
    }
  }
  const bodyOfOne = async (policy: Policy) => bodyOf(await recipientsOf([policy], people))(policy)

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
    const bodies = rows.map(bodyOf(await recipientsOf(rows, people)))
    return halPart('resourcepolicies', bodies, total, wanted, `${all}/search/${name}`)
  }

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

  return { all, store, bodyOfGroup, bodyOfEperson, bodyOfOne, found, page, edit }
}

type Policies = ReturnType<typeof policiesIn>

/** `/api/authz/resourcepolicies`: who may read an item or a file, and who may change an item. For administrators. */
export function policyRoutes(app: FastifyInstance, parts: Parts): void {
  takeUriLists(app)
  const routes = routesOf(app)
  const policies = policiesIn(parts)
  searchRoutes(routes, policies, parts)
  showRoutes(routes, policies, parts)
  addRoute(routes, policies, parts)
  changeRoutes(routes, policies, parts)
}

function searchRoutes(routes: Routes, { store, page }: Policies, { people }: Parts): void {
  routes.get(`${path}/search/resource`, route('listPoliciesOfObject', toAdministrators), async request => {
    const query = request.query as Query
    const uuid = uuidIn(query, 'uuid')
    const action = single(query, 'action')
    const isWanted = ({ rule }: Policy) => !action || actionOf(rule) === action
    return page(request, 'resource', window => policiesOfObject(store, uuid, isWanted, window))
  })
  for (const kind of kinds)
    routes.get(
      `${path}/search/${kind}`,
      route(kind === 'group' ? 'listPoliciesOfGroup' : 'listPoliciesOfEperson', toAdministrators),
      async request => {
        const query = request.query as Query
        const reader = await readerOf(kind, uuidIn(query, 'uuid'), people)
        if (!single(query, 'resource'))
          return page(request, kind, window => policiesOfReader(store, reader, window))
        const uuid = uuidIn(query, 'resource')
        const isWanted = ({ rule }: Policy) => rule.reader === reader
        return page(request, kind, window => policiesOfObject(store, uuid, isWanted, window))
      },
    )
}

function showRoutes(routes: Routes, policies: Policies, { people, addresses }: Parts): void {
  const { found, bodyOfOne, bodyOfGroup, bodyOfEperson } = policies
  routes.get<Route>(url, route('showPolicy', toAdministrators), async request => {
    return bodyOfOne((await found(request.params.id)).policy)
  })
  routes.get<Route>(`${url}/group`, route('showGroupOfPolicy', toAdministrators), async (request, reply) => {
    const { policy } = await found(request.params.id)
    const group = (await recipientsOf([policy], people)).group(policy.rule)
    return group ? bodyOfGroup(group) : reply.code(204).send()
  })
  routes.get<Route>(
    `${url}/eperson`,
    route('showEpersonOfPolicy', toAdministrators),
    async (request, reply) => {
      const { policy } = await found(request.params.id)
      const eperson = (await recipientsOf([policy], people)).eperson(policy.rule)
      return eperson ? bodyOfEperson(eperson) : reply.code(204).send()
    },
  )
  routes.get<Route>(
    `${url}/resource`,
    route('showObjectOfPolicy', toAdministrators),
    async (request, reply) => {
      const { object } = await found(request.params.id)
      return reply.redirect(`${addresses.api}/core/${object.isItem ? 'items' : 'bitstreams'}/${object.uuid}`)
    },
  )
}

function addRoute(routes: Routes, { all, store, found, bodyOfOne }: Policies, { people }: Parts): void {
  routes.post(path, route('addPolicy', byAdministrators(jsonOf(bodyLimit))), async (request, reply) => {
    const query = request.query as Query
    const object = uuidIn(query, 'resource')
    const [kind, ...more] = kinds.filter(name => single(query, name))
    if (kind === undefined || more.length > 0)
      throw badParameter(
        'eperson',
        single(query, 'eperson') ?? '',
        'A policy is for one group or for one eperson: send either the parameter group or the parameter eperson, with a UUID.',
      )
    const reader = await readerOf(kind, uuidIn(query, kind), people)
    const body = jsonObject(request)
    const values = valuesOf(members.map(name => [name, body[name] ?? (name === 'action' ? 'READ' : null)]))
    const { name = null, description = null, type = null } = values
    const id = newPolicyId(object)
    const event = eventOf(request.caller, request, { event: 'item.access', outcome: 'success' })
    await editPolicies(store, object, event, ({ isItem, policies }) => [
      ...policies,
      { id, rule: changedRule({ reader }, values, isItem), name, description, type },
    ])
    // The policy may be gone already, with the eperson that it is for.
    const added = await bodyOfOne((await found(id)).policy)
    return reply.code(201).header('location', `${all}/${id}`).send(added)
  })
}

function changeRoutes(routes: Routes, { edit, found, bodyOfOne }: Policies, { people }: Parts): void {
  routes.patch<Route>(url, route('changePolicy', byAdministrators(patchOf(bodyLimit))), async request => {
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
  for (const kind of kinds)
    routes.put<Route>(
      `${url}/${kind}`,
      route(
        kind === 'group' ? 'setGroupOfPolicy' : 'setEpersonOfPolicy',
        byAdministrators(urisOf(bodyLimit)),
      ),
      async (request, reply) => {
        const reader = await readerOf(kind, readAddressedUuid(request, `/eperson/${kind}s/`), people)
        await edit(request, (policy, isItem) => {
          if (kindOf(policy.rule) !== kind)
            throw new Problem(
              'change-refused',
              `This policy is for ${articles[kindOf(policy.rule)]}. Delete it, and add one for ${articles[kind]}.`,
            )
          return [{ ...policy, rule: changedRule({ ...policy.rule, reader }, {}, isItem) }]
        })
        return reply.code(204).send()
      },
    )
  routes.delete<Route>(url, route('deletePolicy', byAdministrators('unused')), async (request, reply) => {
    await edit(request, () => [])
    return reply.code(204).send()
  })
}

const valuesOf = (given: readonly (readonly [member: string, value: unknown])[]): PolicyValues =>
  Object.assign({}, ...given.map(([member, value]) => readPolicyValue(member, value)))
