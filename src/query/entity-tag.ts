import { createHash } from 'node:crypto'
import type { Plan } from '../model/plan.ts'

/**
 * Entity tags of lists (RFC 9110 §8.8.3), which cost nothing: the records of an imported entity change with its version
 * only. The address says the rest, so a tag needs to tell no more than the versions and the format.
 * @returns the tag, to be sent as a weak one; undefined if some entity of the plan is a table, whose rows change at any time
 */
export function entityTag(plan: Plan, format: string): string | undefined {
  const { source } = plan.entity
  if (source.kind !== 'records') return undefined
  if (plan.where === null && plan.shape.kind === 'records') return `"${source.version}.${format}"`
  const key = keyOf(plan)
  return key === undefined ? undefined : `"${digest(key)}.${format}"`
}

/** The plan as text, with the versions of its entities. An operator may change relations and default conditions. */
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

/** Of one record, whatever it is read from. */
export const recordTag = (record: Uint8Array): string => `"${digest(record)}"`
