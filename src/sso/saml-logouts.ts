import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Tickets } from '../authn/tickets.ts'
import type { SingleSignOnConfig } from '../config/providers.ts'
import { acceptsShortLived, changes, formOf, reads, withoutCsrf } from '../http/access.ts'
import { providerLogoutEvent } from '../http/audit.ts'
import { clientOf } from '../http/connection.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { readForm } from '../http/form.ts'
import { sendPage, sendPosting } from '../http/html-page.ts'
import { type Query, singleParameters } from '../http/parameters.ts'
import { type Client, Overloaded } from '../lib/fair-queue.ts'
import type { Identities } from '../storage/statements/identities.ts'
import { sessionNameAt } from './federation.ts'
import type { IdpMetadata } from './metadata/idp.ts'
import { Refused } from './protocol.ts'
import type { SamlProvider } from './providers.ts'
import { logoutNotUnderstood, logoutRefusalOf, noteRefusal } from './refusals.ts'
import type { LogoutRequest } from './saml.ts'
import { bounds } from './saml-bounds.ts'
import { understood } from './saml-library.ts'
import { type LogoutMessage, messageInQuery } from './saml-logout.ts'
import type { LogoutStatus } from './saml-logout-response.ts'
import type { SamlMessages, SamlReader } from './saml-messages.ts'
import { decode } from './saml-xml.ts'

const contract = contractsIn(() => import('./contracts.ts'))

interface Parts {
  readonly config: SingleSignOnConfig
  readonly providers: readonly SamlProvider[]
  readonly identities: Identities
  readonly messages: SamlMessages
  readonly tickets: Tickets
}

/** Maximum size in bytes of a form with a logout request: the request in base64, with its `+` and `/` encoded. */
const formLimit = 64 * 1024
/** Seconds for which a used logout request is remembered, which is longer than a request is accepted. */
const usedFor = 900

/** A provider that the issuer of a message stands for. */
interface Known {
  readonly provider: SamlProvider
  readonly idp: IdpMetadata
}

/** A received logout request; `request` is a Refused if it isn't known to be a provider's. */
interface Received {
  readonly message: LogoutMessage
  /** The ID in the message. */
  readonly id: string
  /** A provider may be configured several times, for example with other rules for other people. */
  readonly known: readonly [Known, ...Known[]]
  readonly request: LogoutRequest | Refused
}

/** The result of a logout request. */
interface Ended {
  readonly status: LogoutStatus
  /** The reason why no session ended; null if one did. */
  readonly why: string | null
}

/** SAML's single logout: requests that a provider sends through a browser (SAML Profiles §4.4). */
export function samlLogoutRoutes(app: FastifyInstance, parts: Parts): void {
  const { config } = parts
  const url = '/sso/saml/logout'
  const marks = { isPage: true, isProviderMessage: true } as const

  routesOf(app).get(
    url,
    { config: { ...marks, ...contract('receiveLogout', reads('anybody', 'none')).config } },
    async (request, reply) => {
      const names = ['SAMLRequest', 'SAMLResponse', 'RelayState', 'SigAlg', 'Signature'] as const
      const given = singleParameters(request.query as Query, names)
      // A response answers Carrel's own request: whatever it says, the session here has ended.
      if (given.SAMLRequest === undefined) return reply.redirect(config.defaultRedirectUrl, 303)
      const query = request.originalUrl.slice(request.originalUrl.indexOf('?') + 1)
      return logOut(request, reply, () => messageInQuery(query))
    },
  )
  routesOf(app).post(
    url,
    {
      config: {
        ...marks,
        ...contract(
          'receivePostedLogout',
          withoutCsrf(
            'An identity provider sends it, and has no pair.',
            acceptsShortLived(changes('anybody', 'none', formOf(formLimit))),
          ),
        ).config,
      },
    },
    async (request, reply) => {
      const form = readForm(request)
      const message = form.get('SAMLRequest')?.toString()
      if (message === undefined) return reply.redirect(config.defaultRedirectUrl, 303)
      const relayState = form.get('RelayState')?.toString() ?? ''
      return logOut(request, reply, async () => ({
        binding: 'post',
        xml: decode(message, bounds.logout),
        relayState,
      }))
    },
  )

  async function logOut(
    request: FastifyRequest,
    reply: FastifyReply,
    read: () => Promise<LogoutMessage>,
  ): Promise<FastifyReply> {
    let name = 'unknown'
    try {
      const received = await receive(parts, request, await understood(read()))
      const [{ provider, idp }] = received.known
      name = provider.config.id
      const { status, why } = await end(parts, request, received)
      if (why !== null) noteRefusal(request.log, name, `logout: ${why}`)
      const isSigned = !(received.request instanceof Refused)
      const answer = await provider.protocol.answerLogout({ ...received, isSigned }, status, idp)
      if (answer?.kind === 'redirect') return reply.redirect(answer.url, 303)
      if (answer) return sendPosting(reply, 'Logging out', answer.action, answer.fields)
      if (status === 'Success')
        return sendPage(reply, 'You are logged out', '<p>All your sessions here have ended.</p>')
      if (status === 'UnknownPrincipal')
        return sendPage(
          reply,
          'You were not logged in',
          '<p>You had no session here that could be ended.</p>',
        )
      throw logoutNotUnderstood(config.defaultRedirectUrl)
    } catch (error) {
      throw logoutRefusalOf(error, name, request.log, config.defaultRedirectUrl)
    }
  }
}

/** @throws Refused if there is no known provider to answer; Overloaded */
async function receive(parts: Parts, request: FastifyRequest, message: LogoutMessage): Promise<Received> {
  const { messages, providers } = parts
  const client = clientOf(request)
  const { issuer, id } = await messages.inTurn(client, reader => reader.head(message.xml, bounds.logout))
  // Looked up between two turns in the queue: a metadata query server may take its time.
  const [first, ...more] = issuer === null ? [] : await knownAs(providers, issuer, client)
  if (!first) throw new Refused('its issuer is not a configured provider')
  const read = await messages.inTurn(client, reader => readBySigners(message, [first, ...more], reader))
  return { message, id, ...read }
}

async function end(
  parts: Parts,
  request: FastifyRequest,
  { known, request: asked }: Received,
): Promise<Ended> {
  if (asked instanceof Refused) return { status: 'RequestDenied', why: asked.message }
  const { id, content } = asked
  if ('refused' in content) return { status: content.status, why: content.refused }
  if (!(await parts.tickets.isFirst('logout-request', `${known[0].provider.config.id}/${id}`, usedFor)))
    return { status: 'RequestDenied', why: 'it was already used' }
  let ended = 0
  for (const { provider, idp } of known)
    ended += await parts.identities.endAtProvider(
      {
        provider: provider.config.id,
        name: sessionNameAt(provider.config, idp.entityId, content.name),
        sid: null,
      },
      providerLogoutEvent(request, provider.config),
    )
  return ended > 0
    ? { status: 'Success', why: null }
    : { status: 'UnknownPrincipal', why: 'nobody has a session here under that NameID' }
}

/** Lists the providers that the issuer stands for, without those whose metadata can't be read now. */
async function knownAs(providers: Parts['providers'], issuer: string, client: Client): Promise<Known[]> {
  const found = await Promise.all(
    providers.map(async provider => {
      const idp = await provider.metadata.lookUp(issuer, client).catch((error: unknown) => {
        if (error instanceof Overloaded) throw error
      })
      return idp && { provider, idp }
    }),
  )
  return found.filter(one => one !== undefined)
}

/**
 * Reads a message with the keys of each entry. Entries with other metadata may know another identity provider
 * by the same name, so the message counts only for entries whose keys have signed it.
 */
async function readBySigners(
  message: LogoutMessage,
  known: Received['known'],
  reader: SamlReader,
): Promise<Pick<Received, 'known' | 'request'>> {
  const read = []
  for (const one of known) {
    const request = await one.provider.protocol
      .readLogout(message, one.idp, reader)
      .catch((error: unknown) => {
        if (error instanceof Refused) return error
        throw error
      })
    read.push({ one, request })
  }
  const [signer, ...others] = read.filter(({ request }) => !(request instanceof Refused))
  const [{ request: refused }] = read as [(typeof read)[number]]
  return signer
    ? { known: [signer.one, ...others.map(({ one }) => one)], request: signer.request }
    : { known, request: refused }
}
