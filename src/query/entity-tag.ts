import { hash } from 'node:crypto'
import type { Plan } from '../model/plan.ts'

/**
 * Makes entity tags of lists (RFC 9110 §8.8.3): the records of an imported entity change only with its version.
 * The address tells the rest, such as the page, so a tag only needs the versions, the condition and the format.
 * @returns the tag, to be sent as a weak one; undefined if an entity of the plan is a table, whose rows may
 * change any time
 */
export function entityTag(plan: Plan, format: string): string | undefined {
  const { entity, where, shape } = plan
  if (entity.source.kind !== 'records') return undefined
  if (where === null && shape.kind === 'records') return `"${entity.source.version}.${format}"`
  const key = digestOf(plan)
  return key === undefined ? undefined : `"${key}.${format}"`
}

/** The last digest of plans with this condition or shape: all pages of a query share them. */
const digests = new WeakMap<
  object,
  Pick<Plan, 'entity' | 'shape'> & { readonly digest: string | undefined }
>()

function digestOf({ entity, where, shape }: Plan): string | undefined {
  const known = digests.get(where ?? shape)
  if (known?.entity === entity && known.shape === shape) return known.digest
  const key = keyOf({ entity, where, shape })
  const made = key === undefined ? undefined : digest(key)
  digests.set(where ?? shape, { entity, shape, digest: made })
  return made
}

/**
 * Writes a plan with versions for its entities, because operators may change relations and default
 * conditions.
 */
function keyOf(plan: Omit<Plan, 'page'>): string | undefined {
  let isVersioned = true
  const text = JSON.stringify(plan, (name, value) => {
    if (name !== 'entity') return value
    const { source } = value as Plan['entity']
    if (source.kind !== 'records') isVersioned = false
    return source.kind === 'records' ? source.version : ''
  })
  return isVersioned ? text : undefined
}

const digest = (text: string) => hash('sha256', text, 'base64url').slice(0, 22)

/** Makes the tag of a single record from its JSON. */
export const recordTag = (record: string): string => `"${digest(record)}"`
