import { isRange } from '../config/settings.ts'
import { pointer } from '../lib/json-pointer.ts'
import { type Check, type Fault, type Format, schemaChecks } from '../lib/json-schema.ts'
import type { Contract, Contracts } from './contract.ts'
import { listed, quote } from './parameters.ts'
import { Problem, type ProblemCode } from './problems.ts'
import type { Static } from './schema.ts'

/** Forms of texts in bodies, besides those that JSON Schema has. */
const formats: Readonly<Record<string, Format>> = {
  'date-time': {
    accepts: text => /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/i.test(text),
    takes: 'a time such as 2030-01-31T12:00:00Z',
  },
  'entity-name': {
    accepts: text => /^[A-Za-z0-9_-]{1,100}$/.test(text),
    takes: 'the name of an entity',
  },
  line: {
    accepts: text => text.trim() !== '' && !/[\p{Cc}\p{Cs}\p{Bidi_Control}]/u.test(text),
    takes: 'a line with a visible character and without control characters',
  },
  network: { accepts: isRange, takes: 'an address or a network such as 192.0.2.0/24' },
  text: {
    accepts: text => text.isWellFormed() && !/[^\P{Cc}\n\t]/u.test(text),
    takes: 'a text without control characters and halves of surrogate pairs',
  },
  unicode: { accepts: text => text.isWellFormed(), takes: 'a text without halves of surrogate pairs' },
}

const compiled = schemaChecks({ formats })

/** The JSON that a contract takes, as a type. */
export type BodyOf<C> = C extends { readonly body: infer Bodies }
  ? Static<Bodies[keyof Bodies] & object>
  : never

/**
 * Returns a function that checks bodies against the contracts of their routes. A contract is loaded and
 * compiled when its first body arrives, once in each event loop: that takes up to half a second, and memory
 * that an event loop without such requests doesn't need (docs/decisions/0068).
 * @param load imports the contracts
 * @param code the problem of a wrong body
 * @returns a function that returns the body unchanged, or throws a problem with the wrong member
 */
export function bodyChecks<C extends Contracts>(
  load: () => Promise<{ readonly contracts: C }>,
  code: ProblemCode,
) {
  const checks = new Map<string, Check>()
  return async <Name extends keyof C & string>(name: Name, body: unknown): Promise<BodyOf<C[Name]>> => {
    const check = checks.get(name) ?? compiled(schemaOf((await load()).contracts[name] as Contract))
    checks.set(name, check)
    const fault = check(body)
    if (fault) throw problemOf(fault, code)
    return body as BodyOf<C[Name]>
  }
}

function schemaOf({ summary, body = {} }: Contract): object {
  const [schema] = Object.values(body)
  if (!schema) throw new Error(`the contract "${summary}" has no body`)
  return schema
}

function problemOf({ path, wrong, legal, nearest }: Fault, code: ProblemCode): Problem {
  const member = pointer(...path.map(part => part.slice(0, 200)))
  const place = member.slice(1)
  const subject = place === '' ? 'The body' : /^[\w/.-]+$/.test(place) ? place : quote(place)
  return new Problem(code, `${subject} ${wrong}${wrong.endsWith('?') ? '' : '.'}`, {
    members: {
      member,
      ...(legal !== undefined && { legal: Array.isArray(legal) ? listed(legal) : legal }),
      ...(nearest !== undefined && { nearest }),
    },
  })
}
