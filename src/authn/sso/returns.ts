import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { SignOnConfig } from '../../config/sign-on.ts'
import { parseForm } from '../../http/form.ts'
import { allowOnly } from '../../http/methods.ts'
import type { Attempts } from './attempts.ts'
import type { Attempt, Vouched } from './protocol.ts'
import type { OidcProvider, Provider, SamlProvider, SignOnAddresses } from './providers.ts'
import { notBegun, refusalOf } from './refusals.ts'
import { serviceProviderMetadata } from './saml-metadata.ts'
import type { SignOnPath } from './sign-on.ts'
import type { Tickets } from './tickets.ts'

interface Parts {
  readonly addresses: SignOnAddresses
  readonly attempts: Attempts
  readonly config: SignOnConfig
  readonly path: SignOnPath
  readonly providers: readonly Provider[]
  readonly tickets: Tickets
}

/** Bytes of a message that an identity provider lets the browser post. */
export const messageLimit = 256 * 1024
/** Seconds that an attempt that was used is remembered: longer than it lives. */
const usedFor = 3_600

/** Where browsers come back from providers: SAML's assertion consumer service, OpenID Connect's redirection endpoint. */
export function returnRoutes(app: FastifyInstance, parts: Parts): void {
  const { addresses, attempts, config, path, providers, tickets } = parts
  const saml = providers.filter((one): one is SamlProvider => one.kind === 'saml')
  const oidc = providers.filter((one): one is OidcProvider => one.kind === 'oidc')

  /** The attempt that this browser made, once (an answer that comes a second time belongs to nothing). */
  async function resume<P extends Provider>(
    state: string,
    from: readonly P[],
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<{ attempt: Attempt; provider: P; begin: string }> {
    const attempt = attempts.resume(request, reply, state)
    const provider = from.find(one => one.config.id === attempt?.provider)
    if (!attempt || !provider || !(await tickets.isFirst('state', state, usedFor)))
      throw notBegun(
        addresses.start(from[0]?.config.scheme ?? '', attempt?.redirectUrl ?? config.defaultRedirectUrl),
      )
    return { attempt, provider, begin: addresses.start(provider.config.scheme, attempt.redirectUrl) }
  }

  async function arrive(
    accept: () => Promise<Vouched>,
    { attempt, provider, begin }: { attempt: Attempt; provider: Provider; begin: string },
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    let vouched: Vouched
    try {
      vouched = await accept()
    } catch (error) {
      throw refusalOf(error, provider.config, begin, request.log)
    }
    return path.admit(vouched, attempt.redirectUrl, request, reply)
  }

  if (saml.length > 0) {
    app.get('/sso/saml/metadata', async (_request, reply) =>
      reply.type('application/samlmetadata+xml').send(serviceProviderMetadata(config.saml, addresses)),
    )
    allowOnly(app, '/sso/saml/metadata', ['GET', 'HEAD'])
    app.post(
      '/sso/saml/acs',
      { bodyLimit: messageLimit, config: { isPage: true, isProviderMessage: true } },
      async (request, reply) => {
        const form = parseForm((request.body as Buffer | undefined) ?? Buffer.alloc(0))
        const resumed = await resume(form.get('RelayState')?.toString() ?? '', saml, request, reply)
        const response = form.get('SAMLResponse')?.toString() ?? ''
        return arrive(
          () => resumed.provider.protocol.accept(response, resumed.attempt),
          resumed,
          request,
          reply,
        )
      },
    )
    allowOnly(app, '/sso/saml/acs', ['POST'])
  }

  for (const provider of oidc) {
    const url = `/sso/oidc/callback/${provider.config.id}`
    app.get(url, { config: { isPage: true } }, async (request, reply) => {
      const query = request.originalUrl.slice(request.originalUrl.indexOf('?') + 1)
      const state = new URLSearchParams(query).get('state') ?? ''
      // Its own address for each provider: one can't pass off its answer as another's (RFC 9700 §4.4.2.2).
      const resumed = await resume(state, [provider], request, reply)
      return arrive(() => provider.protocol.accept(query, resumed.attempt), resumed, request, reply)
    })
    allowOnly(app, url, ['GET', 'HEAD'])
  }
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** An identity provider sends this, by way of a browser or itself: no client of ours, and no CSRF pair (C1). */
    isProviderMessage?: boolean
  }
}
