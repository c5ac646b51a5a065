import { commaList, quote, suggestion } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { UnknownReader } from '../../storage/single-records.ts'

/**
 * The problem of an entity's description that is refused.
 * @param member a JSON pointer (RFC 6901) to the wrong part of the body; '' for the whole body
 */
export const refused = (
  member: string,
  detail: string,
  members: Readonly<Record<string, unknown>> = {},
): Problem => new Problem('entity-refused', detail, { members: { member, ...members } })

/** The problem of a name that is not among the legal ones. */
export function unknownName(member: string, what: string, name: string, legal: readonly string[]): Problem {
  const { hint, members } = suggestion(name, legal)
  const list = legal.length === 0 ? 'there are none' : `there are ${commaList(legal)}`
  return refused(member, `There is no ${what} ${quote(name)}; ${list}.${hint}`, members)
}

/** Makes a change of rules. @throws Problem 422 if what they name was deleted after it had been looked up */
export async function namingReaders<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (error) {
    if (!(error instanceof UnknownReader)) throw error
    throw refused('', `A rule names what was deleted meanwhile: ${error.message}.`)
  }
}
