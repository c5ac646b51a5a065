import type { FastifyInstance } from 'fastify'
import { changes, reads } from '../../http/access.ts'
import type { Addresses } from '../../http/addresses.ts'
import { eventOf } from '../../http/audit.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { halPage, readPage } from '../../http/hal.ts'
import { type Query, singleParameters } from '../../http/parameters.ts'
import { requireMatch, stale } from '../../http/preconditions.ts'
import { Problem } from '../../http/problems.ts'
import { entityTag } from '../../model/declared.ts'
import type { Entity } from '../../model/entities.ts'
import type { KeptVersion } from '../../model/kept-versions.ts'
import type { Entities } from '../../storage/entities.ts'
import { known, requireOwn } from './declarations.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: Addresses
  readonly entities: Entities
}

/**
 * `{api}/admin/entities/{name}/versions…`: versions that imports have replaced, and their restore (EA10), below
 * a scope for administrators.
 */
export function versionRoutes(app: FastifyInstance, { addresses, entities }: Parts): void {
  const listOf = (name: string) => `${addresses.api}/admin/entities/${name}/versions`

  function bodyOf(name: string, { fields, ...version }: KeptVersion) {
    return {
      ...version,
      fields: fields.length,
      _links: { restore: { href: `${listOf(name)}/${version.id}/restore` } },
    }
  }

  /** @throws Problem 404; 409 for an entity that is not imported */
  async function imported(name: string): Promise<Entity> {
    const entity = known(await entities.all(), name)
    requireOwn(name)
    if (entity.source.kind !== 'records')
      throw new Problem(
        'entity-conflict',
        `${name} shows a table of the database, and only imported records have versions.`,
      )
    return entity
  }

  routesOf(app).get<{ Params: { name: string } }>(
    '/:name/versions',
    route('listVersions', reads('administrator', 'administration')),
    async request => {
      const { name } = request.params
      const query = request.query as Query
      singleParameters(query, ['page', 'size'])
      await imported(name)
      const all = (await entities.versions(name)).map(version => bodyOf(name, version))
      return halPage('versions', all, readPage(query), listOf(name))
    },
  )

  routesOf(app).post<{ Params: { name: string; version: string } }>(
    '/:name/versions/:version/restore',
    route('restoreVersion', changes('administrator', 'administration', 'unused')),
    async (request, reply) => {
      const { name, version } = request.params
      singleParameters(request.query as Query, [])
      const entity = await imported(name)
      requireMatch(request.headers, entityTag(entity), 'entity')
      const id = /^[1-9]\d{0,14}$/.test(version) ? Number(version) : 0
      const event = eventOf(request.caller, request, {
        event: 'entity.restore',
        outcome: 'success',
        object: name,
      })
      const of = request.headers['if-match'] === undefined ? undefined : entityTag(entity)
      const done = await entities.restore(name, id, event, of)
      if (done === 'changed') throw stale('entity')
      // An entity that was dropped meanwhile has no versions.
      if (done !== 'restored')
        throw new Problem(
          'not-found',
          `${name} has no version ${version}, or not any more: ${listOf(name)} lists those that it has.`,
        )
      return reply.code(204).send()
    },
  )
}
