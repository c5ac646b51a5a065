import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config/config.ts'
import { jsonOf } from '../../http/access.ts'
import { bodyChecks } from '../../http/check-body.ts'
import { clientOf } from '../../http/connection.ts'
import { contractsIn, routesOf } from '../../http/contract.ts'
import { jsonObject } from '../../http/json-body.ts'
import { type Query, singleParameters } from '../../http/parameters.ts'
import { Problem } from '../../http/problems.ts'
import { Refusal, type Report } from '../../lib/threads/child.ts'
import type { ExplainRequest } from '../../sso/explain.ts'
import type { Questions } from './questions.ts'
import { byOperators, toOperators } from './upkeep-routes.ts'

const route = contractsIn(() => import('./contracts.ts'))
const checked = bodyChecks(() => import('./contracts.ts'), 'explanation-refused')

interface Parts {
  readonly config: Pick<Config, 'singleSignOn'>
  readonly questions: Questions
}

/** Maximum size of the body in bytes: it holds an assertion in base64, as JSON. */
const bodyLimit = 1024 * 1024

/** Answers of `carrel doctor` and `carrel sso` as JSON (OP1, OP2). */
export function questionRoutes(app: FastifyInstance, { config, questions }: Parts): void {
  const routes = routesOf(app)
  routes.get('/doctor', route('runDoctor', toOperators), async request => {
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
  routes.get('/sso/check', route('checkSignOn', toOperators), async request => {
    singleParameters(request.query as Query, [])
    const configured = config.singleSignOn !== null
    const report = configured
      ? await questions.ask({ kind: 'sso-check' }, clientOf(request))
      : { findings: [] }
    return { configured, ...counted(report) }
  })
  routes.post('/sso/explain', route('explainSignOn', byOperators(jsonOf(bodyLimit))), async request => {
    singleParameters(request.query as Query, [])
    requireSignOn()
    const asked = await wanted(jsonObject(request))
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

/** Reads the body of a question. @throws Problem 422 */
async function wanted(body: unknown): Promise<ExplainRequest> {
  const wrong = (detail: string) => new Problem('explanation-refused', detail)
  const {
    provider = null,
    entityId = null,
    attributes = null,
    assertion = null,
  } = await checked('explainSignOn', body)
  if ((attributes === null) === (assertion === null))
    throw wrong(
      'Give either attributes or assertion: an object with names and values, or what a provider sent.',
    )
  if (assertion !== null) return { provider, entityId, given: { kind: 'assertion', text: assertion } }
  if (!isFlat(attributes)) throw wrong(`attributes must not be nested more than ${maxLevels} levels deep.`)
  return { provider, entityId, given: { kind: 'attributes', attributes: attributes ?? {} } }
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

const members = ['provider', 'entityId', 'attributes', 'assertion']

/** Makes a sentence of a message. A message that begins with the name of a member keeps its lower case. */
const sentence = (text: string) =>
  members.some(name => text.startsWith(`${name} `))
    ? `${text}.`
    : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
