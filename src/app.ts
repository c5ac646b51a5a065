import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from 'fastify'
import { eventOf } from './authn/audit.ts'
import { authenticate } from './authn/authenticate.ts'
import { challengeOf } from './authn/challenge.ts'
import { changePasswordRoutes } from './authn/change-password.ts'
import { loginRoutes } from './authn/login.ts'
import { logoutRoutes } from './authn/logout.ts'
import { createOnBehalfOf } from './authn/on-behalf-of.ts'
import { createPasswords } from './authn/passwords.ts'
import { shortLivedTokenRoutes } from './authn/short-lived-tokens.ts'
import { createSpecialGroups } from './authn/special-groups.ts'
import { waysToLogIn } from './authn/sso/addresses.ts'
import type { SingleSignOn, SingleSignOnParts } from './authn/sso/single-sign-on.ts'
import { statusRoutes } from './authn/status.ts'
import { createTickets } from './authn/tickets.ts'
import { createTokens } from './authn/tokens.ts'
import type { Config } from './config/config.ts'
import { createLeases } from './downloads/leases.ts'
import { contentRoutes } from './downloads/route.ts'
import { authorizationRoutes } from './dspace/authorizations.ts'
import { bitstreamRoutes } from './dspace/bitstreams.ts'
import { absentRoutes } from './dspace/empty-answers.ts'
import { epersonRoutes } from './dspace/epersons.ts'
import { itemRoutes } from './dspace/items.ts'
import { rootRoutes } from './dspace/root.ts'
import { siteRoutes } from './dspace/sites.ts'
import { createFileStore } from './files/file-store.ts'
import { addressesOf, pathOf, withoutPrefix } from './http/addresses.ts'
import { answerClientErrors, answerProblems } from './http/answer-problems.ts'
import { createCors } from './http/cors.ts'
import { createCsrf } from './http/csrf.ts'
import { emptyHeads } from './http/head-answers.ts'
import { healthRoutes } from './http/health.ts'
import { refuseOtherMethods } from './http/method-not-allowed.ts'
import { parseQuery } from './http/parameters.ts'
import { problemPages } from './http/problem-pages.ts'
import { Problem } from './http/problems.ts'
import { refuseMalformed } from './http/refuse-malformed.ts'
import { securityHeaders } from './http/security-headers.ts'
import { passwordMethod } from './model/caller.ts'
import type { Keyring } from './model/keys.ts'
import { queryRoutes } from './query/routes.ts'
import type { Storage } from './storage/storage.ts'

/** Bytes of a request's body (L7), and of all its headers: room for a token that is too long to be looked at (T8). */
const bodyLimit = 16 * 1024
const headerLimit = 64 * 1024
/** Milliseconds for a whole request to arrive. */
const requestTimeout = 30_000

/**
 * The wiring, all of it and in order. A request walks: headers → CORS → CSRF (on POST and PATCH) → caller → route.
 * Building is not listening: the process and every test call this.
 */
export async function buildApp(config: Config, storage: Storage): Promise<FastifyInstance> {
  const { accounts, entities, repository, secrets } = storage
  const configured = config.tokenSecrets.map(secret => Buffer.from(secret))
  const keyring: Keyring = configured.length > 0 ? () => configured : secrets.current

  const addresses = addressesOf(config)
  const challenge = challengeOf(waysToLogIn(config, addresses), config.realm)
  const answer = answerProblems({ addresses, challenge })
  const headers = securityHeaders(config)
  const cors = createCors(config)
  const csrf = createCsrf(config, keyring)
  const passwords = createPasswords({ atOnce: config.passwordConcurrency, waiting: config.passwordQueue })
  const specialGroups = await createSpecialGroups(config, accounts)
  const tokens = createTokens({
    accounts,
    keyring,
    loginMethods: config.loginMethods,
    tickets: createTickets(storage.signOn),
    mayAct: config.loginOnBehalfOf,
  })
  const leases = createLeases({ accounts, config, specialGroups, tokens })
  const onBehalfOf = createOnBehalfOf({ accounts, config })

  const isQueryOrApi = (url: string) => url.startsWith('/api') || url.startsWith(config.queryBase)
  /** What comes before everything else on every request, even one that the framework can't route (C5). */
  function admit(request: FastifyRequest, reply: FastifyReply): 'answered' | 'go on' {
    reply.headers(headers)
    // What an identity provider sends comes from its own origin and has no CSRF pair (docs/decisions/0010).
    // Where nothing takes a PATCH it is a 405 like any other method, and changes nothing (L1).
    const changes = request.method === 'POST' || (request.method === 'PATCH' && !request.is404)
    const isProviderMessage = changes && request.routeOptions.config?.isProviderMessage === true
    if (!isProviderMessage && cors(request, reply) === 'answered') return 'answered'
    if (changes) {
      if (!isProviderMessage) csrf.require(request, reply)
    } else if (isQueryOrApi(request.url) && !csrf.hasCookie(request)) csrf.issue(request, reply)
    refuseMalformed(request)
    return 'go on'
  }

  const app = Fastify({
    bodyLimit,
    requestTimeout,
    // Node would refuse a request without Host with an answer that is empty; ours says why.
    http: { maxHeaderSize: headerLimit, requireHostHeader: false },
    forceCloseConnections: 'idle',
    trustProxy: config.trustedProxies.length > 0 ? [...config.trustedProxies] : false,
    rewriteUrl: request => withoutPrefix(config.basePath, request.url ?? '/'),
    routerOptions: {
      querystringParser: text => ({ ...parseQuery(text) }),
      ignoreTrailingSlash: true,
      maxParamLength: headerLimit,
    },
    // Its lines would hold whole addresses; ours, below, hold the path.
    logController: new LogController({ disableRequestLogging: true }),
    // A logger for each request would cost more than most requests; ours says which request itself.
    childLoggerFactory: logger => logger,
    logger: config.logLevel === 'silent' ? false : { level: config.logLevel },
    clientErrorHandler: answerClientErrors(addresses, headers),
    // Requests that come on open connections while the service stops are still answered (D4).
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      try {
        if (admit(request, reply) === 'go on') answer(error, request, reply)
      } catch (problem) {
        answer(problem, request, reply)
      }
    },
  })
  const refuseMethod = refuseOtherMethods(app)
  emptyHeads(app)
  // Node would answer other expectations than 100-continue with an empty 417.
  app.server.on('checkExpectation', app.routing)
  // `null` reserves the place in the object; the hook below fills it before anything reads it.
  app.decorateRequest('caller', null as never)

  app.addHook('onRequest', (request, reply, next) => {
    if (admit(request, reply) === 'answered') return
    refuseMethod(request)
    next()
  })

  // Bodies stay bytes; each handler that reads one says which media types it takes.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    ['application/x-www-form-urlencoded', 'application/json', 'application/json-patch+json'],
    { parseAs: 'buffer' },
    (_request, body, done) => done(null, body),
  )
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) =>
    body.length === 0
      ? done(null, body)
      : done(
          new Problem(
            'unsupported-media-type',
            'The Content-Type of the body is not one that this service reads.',
          ),
        ),
  )

  app.setErrorHandler(answer)
  app.setNotFoundHandler(request => {
    throw new Problem(
      'not-found',
      `There is nothing at ${pathOf(request.originalUrl)}; start at ${addresses.api}.`,
    )
  })
  if (config.logLevel === 'info')
    app.addHook('onResponse', async (request, reply) => {
      const { method, originalUrl } = request
      // The path only: a query may hold a token (T10).
      request.log.info({
        method,
        path: pathOf(originalUrl),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      })
    })

  const single = await singleSignOn(
    config,
    { accounts, addresses, keyring, log: app.log, specialGroups },
    storage,
  )
  healthRoutes(app, storage)
  // Everything inside knows who is asking.
  await app.register(async inside => {
    const password = config.loginMethods.includes(passwordMethod)
    inside.addHook('onRequest', authenticate({ accounts, tokens, specialGroups, onBehalfOf }))
    await inside.register(
      async authn => {
        const trade = single?.trade
        loginRoutes(authn, { accounts, config, csrf, passwords, specialGroups, tokens, password, trade })
        logoutRoutes(authn, { accounts, config, csrf, offerLogout: single?.offerLogout, trade })
        statusRoutes(authn, { accounts, addresses, challenge, trade })
        single?.register(authn)
        shortLivedTokenRoutes(authn, { accounts, addresses, config, tokens })
      },
      { prefix: '/api/authn' },
    )
    await inside.register(
      async api => {
        rootRoutes(api, { addresses, csrf })
        problemPages(api, addresses)
        epersonRoutes(api, { accounts, addresses })
        changePasswordRoutes(api, { accounts, addresses, csrf, passwords, password })
        siteRoutes(api, { addresses, config })
        absentRoutes(api, addresses)
        itemRoutes(api, { addresses, entities, repository })
        bitstreamRoutes(api, { addresses, entities, repository })
        contentRoutes(api, {
          repository,
          files: createFileStore(config.filesFolder),
          leases,
          noteDownload: (caller, request, object) =>
            accounts.recordEvent(eventOf(caller, request, { event: 'download', outcome: 'success', object })),
        })
        authorizationRoutes(api, { accounts, addresses, config, repository })
      },
      { prefix: '/api' },
    )
    await inside.register(async query => queryRoutes(query, { addresses, entities }), {
      prefix: config.queryBase,
    })
  })
  return app
}

/** Loaded where it is configured: what speaks its protocols takes its time and memory at every start. */
async function singleSignOn(
  { signOn, ...config }: Config,
  parts: Omit<SingleSignOnParts, 'config' | 'signOn'>,
  storage: Storage,
): Promise<SingleSignOn | undefined> {
  if (signOn === null) return undefined
  const { createSingleSignOn } = await import('./authn/sso/single-sign-on.ts')
  return createSingleSignOn({ ...parts, config: { ...config, signOn }, signOn: storage.signOn })
}
