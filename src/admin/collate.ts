import type { FastifyRequest } from 'fastify'
import { eventOf } from '../authn/audit.ts'
import type { Config } from '../config/config.ts'
import { detached } from '../model/audit-events.ts'
import type { Entity } from '../model/entities.ts'
import type { Process } from '../model/processes.ts'
import { fieldOf } from './declarations.ts'
import type { Imports } from './imports.ts'
import { pointer, refused } from './refused.ts'
import type { Wanted } from './wanted.ts'

interface Parts {
  readonly config: Config
  readonly imports: Imports
}

/**
 * Sorts texts of an imported entity as other languages do. All records are written again, which takes a while.
 * @returns undefined if they are sorted so already
 * @throws Problem 422 for what has no collation
 */
export async function collate(
  { config, imports }: Parts,
  request: FastifyRequest,
  entity: Entity,
  wanted: Wanted & { readonly collations: ReadonlyMap<string, string | null> },
): Promise<Process | undefined> {
  const { collations, ...others } = wanted
  const { name } = entity
  const [other] = Object.keys(others)
  if (other !== undefined)
    throw refused('/collations', `Other collations take a while: change ${other} by a request of its own.`)
  if (entity.source.kind !== 'records')
    throw refused('/collations', `${name} shows a table; its text sorts by code point.`)
  for (const [field, tag] of collations) {
    const member = pointer('collations', field)
    const { type } = fieldOf(entity, field, member)
    if (tag !== null && type !== 'text')
      throw refused(member, `${name}.${field} is ${type}, and only text has a collation.`)
  }
  const isSame = [...collations].every(
    ([field, tag]) => (entity.fields.find(one => one.name === field)?.collation ?? null) === tag,
  )
  if (isSame) return undefined
  const work = { kind: 'collate', name, collations } as const
  const event = detached(
    eventOf(request.caller, request, { event: 'entity.change', outcome: 'success', object: name }),
  )
  return imports.begin(request, { config, file: '', format: null, work, event }, null, { mode: 'collate' })
}
