import { createHash } from 'node:crypto'
import type { Plan } from '../model/plan.ts'

/**
 * Makes entity tags of lists (RFC 9110 §8.8.3) at no cost: the records of an imported entity change only with
 * its version. The address tells the rest, so a tag only needs the versions and the format.
 * @returns the tag, to be sent as a weak one; undefined if an entity of the plan is a table, whose rows may
 * change any time
 */
export function entityTag(plan: Plan, format: string): string | undefined {
  const { source } = plan.entity
  if (source.kind !== 'records') return undefined
  if (plan.where === null && plan.shape.kind === 'records') return `"${source.version}.${format}"`
  const key = keyOf(plan)
  return key === undefined ? undefined : `"${digest(key)}.${format}"`
}

/**
 * Writes the whole plan with versions for its entities, because operators may change relations and default
 * conditions.
 */
function keyOf(plan: Plan): string | undefined {
  let isVersioned = true
  const text = JSON.stringify(plan, (name, value) => {
    if (name !== 'entity') return value
    const { source } = value as Plan['entity']
    if (source.kind !== 'records') isVersioned = false
    return source.kind === 'records' ? source.version : ''
  })
  return isVersioned ? text : undefined
}

const digest = (text: string | Uint8Array) =>
  createHash('sha256').update(text).digest('base64url').slice(0, 22)

/** Makes the tag of a single record from its JSON. */
export const recordTag = (record: Uint8Array): string => `"${digest(record)}"`
