import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Throttle } from '../authn/throttle.ts'
import { changes, jsonOf, reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import type { Csrf } from '../http/csrf.ts'
import { jsonBody } from '../http/json-body.ts'
import { type Query, single } from '../http/parameters.ts'
import { Problem } from '../http/problems.ts'
import { clientAddress } from '../lib/addresses.ts'
import { isObject } from '../lib/json.ts'
import { mailEvent, type Registrations, registrationKinds } from './registrations.ts'

const route = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly addresses: Addresses
  readonly csrf: Csrf
  readonly registrations: Registrations
  readonly throttle: Pick<Throttle, 'count'>
}

/**
 * `/api/eperson/registrations`: requests a mail with a link, for a new account or a forgotten password. The
 * answer and its time are the same whether or not there is an account with the address.
 */
export function registrationRoutes(
  app: FastifyInstance,
  { addresses, csrf, registrations, throttle }: Parts,
): void {
  const routes = routesOf(app)
  const path = '/eperson/registrations'
  const self = { self: { href: `${addresses.api}${path}` } }

  routes.get(path, route('showRegistrations', reads('anybody', 'none')), async () => ({
    type: 'registrations',
    _links: { ...self, findByToken: { href: `${addresses.api}${path}/search/findByToken` } },
  }))

  routes.post(
    path,
    route('requestRegistration', changes('anybody', 'none', jsonOf())),
    async (request, reply) => {
      const asked = single(request.query as Query, 'accountRequestType') ?? 'register'
      const kind = registrationKinds.find(one => one === asked)
      if (!kind)
        throw new Problem('bad-parameter', 'accountRequestType is register or forgot.', {
          members: { parameter: 'accountRequestType', value: asked, legal: registrationKinds },
        })
      const email = readEmail(request)
      await throttle.count(`mail to ${email}`, clientAddress(request.ip))
      registrations.request(kind, email, mailEvent(request, 'registration', kind))
      csrf.issue(request, reply)
      return reply.code(201).send()
    },
  )

  routes.get(
    `${path}/search/findByToken`,
    route('findRegistration', reads('anybody', 'none')),
    async request => {
      const { kind, email, forgotten } = await registrations.find(
        single(request.query as Query, 'token') ?? '',
      )
      return {
        email,
        user: forgotten?.eperson ?? null,
        registrationType: kind,
        type: 'registration',
        _links: self,
      }
    },
  )
}

function readEmail(request: FastifyRequest): string {
  const body = jsonBody(request)
  const email = isObject(body) ? body.email : undefined
  if (typeof email !== 'string' || !isEmail(email.trim()))
    throw new Problem('bad-request', 'The body must have the member email, an email address.')
  return email.trim()
}

/** True for one address: refuses anything that a mail's header could read as more than one. */
const isEmail = (text: string): boolean =>
  text.length <= 254 && /^[^\s\p{Cc}@<>"(),:;\\[\]]+@[^\s\p{Cc}@<>"(),:;\\[\]]+$/u.test(text)
