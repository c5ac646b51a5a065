import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config/config.ts'
import { clientOf } from '../../http/client.ts'
import { contractsIn } from '../../http/contract.ts'
import { jsonObject } from '../../http/json-body.ts'
import { commaList, type Query, quote, singleParameters } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { isObject } from '../../lib/json.ts'
import { Refusal, type Report } from '../../lib/threads/child.ts'
import type { ExplainRequest } from '../../sso/explain.ts'
import type { Questions } from './questions.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly config: Pick<Config, 'singleSignOn'>
  readonly questions: Questions
}

/** Maximum size of the body in bytes: it holds an assertion in base64, as JSON. */
const bodyLimit = 1024 * 1024

/** Answers of `carrel doctor` and `carrel sso` as JSON (OP1, OP2). */
export function questionRoutes(app: FastifyInstance, { config, questions }: Parts): void {
  app.get('/doctor', route('runDoctor'), async request => {
    singleParameters(request.query as Query, [])
    return counted(await questions.ask({ kind: 'doctor' }, clientOf(request)))
  })

  const requireSignOn = () => {
    if (config.singleSignOn === null)
      throw new Problem(
        'not-found',
        'Single sign-on is not configured. The operator sets it up in CARREL_CONFIG.',
      )
  }
  app.get('/sso/check', route('checkSignOn'), async request => {
    singleParameters(request.query as Query, [])
    const configured = config.singleSignOn !== null
    const report = configured
      ? await questions.ask({ kind: 'sso-check' }, clientOf(request))
      : { findings: [] }
    return { configured, ...counted(report) }
  })
  app.post('/sso/explain', { ...route('explainSignOn'), bodyLimit }, async request => {
    singleParameters(request.query as Query, [])
    requireSignOn()
    const asked = wanted(jsonObject(request))
    try {
      return await questions.ask({ kind: 'sso-explain', request: asked }, clientOf(request))
    } catch (error) {
      throw error instanceof Refusal ? new Problem('explanation-refused', sentence(error.message)) : error
    }
  })
}

/** Counts findings by level, and puts the counts before the findings. */
function counted({ findings }: Report) {
  const counts: Record<string, number> = {}
  for (const { level } of findings as readonly { level: string }[]) counts[level] = (counts[level] ?? 0) + 1
  return { counts, findings }
}

const members = ['provider', 'entityId', 'attributes', 'assertion']

/** Reads the body of a question. @throws Problem 422 */
function wanted(body: Readonly<Record<string, unknown>>): ExplainRequest {
  const wrong = (detail: string) => new Problem('explanation-refused', detail)
  const unknown = Object.keys(body).find(name => !members.includes(name))
  if (unknown !== undefined)
    throw wrong(`There is no member ${quote(unknown)}; there are ${commaList(members)}.`)
  const textOr = (name: 'provider' | 'entityId' | 'assertion') => {
    const value = body[name] ?? null
    if (value !== null && typeof value !== 'string') throw wrong(`${name} must be a text.`)
    return value
  }
  const { attributes = null } = body
  const [provider, entityId, text] = [textOr('provider'), textOr('entityId'), textOr('assertion')]
  if ((attributes === null) === (text === null))
    throw wrong(
      'Give either attributes or assertion: an object with names and values, or what a provider sent.',
    )
  if (text !== null) return { provider, entityId, given: { kind: 'assertion', text } }
  if (!isObject(attributes))
    throw wrong('attributes must be an object with the names and values of attributes.')
  if (!isFlat(attributes)) throw wrong(`attributes must not be nested more than ${maxLevels} levels deep.`)
  return { provider, entityId, given: { kind: 'attributes', attributes } }
}

/**
 * Maximum nesting of attributes: no provider nests claims that deeply, and much deeper values can't be sent
 * to the process that answers.
 */
const maxLevels = 20

const isFlat = (value: unknown, levels = maxLevels): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every(one => isFlat(one, levels - 1)))

/** Makes a sentence of a message. A message that begins with the name of a member keeps its lower case. */
const sentence = (text: string) =>
  members.some(name => text.startsWith(`${name} `))
    ? `${text}.`
    : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
