import { isObject, type Members } from '../lib/json.ts'
import { setMember } from './members.ts'

/** What a merge patch makes of a value (RFC 7396 §2). The value is changed. */
export function merged(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result: Members = isObject(target) ? target : {}
  for (const [name, value] of Object.entries(patch))
    if (value === null) delete (result as Record<string, unknown>)[name]
    else setMember(result, name, merged(Object.hasOwn(result, name) ? result[name] : undefined, value))
  return result
}
