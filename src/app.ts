import type { FastifyInstance } from 'fastify'
import { metricsRoutes } from './admin/metrics/route.ts'
import { createAdministration } from './admin/wiring.ts'
import { authenticate } from './authn/authenticate.ts'
import type { PasswordCost } from './authn/passwords.ts'
import { networkOf } from './authn/special-groups.ts'
import { authnRoutes, createAuthentication } from './authn/wiring.ts'
import type { Config } from './config/config.ts'
import { builtFolder, consoleRoutes } from './console/routes.ts'
import { actuatorRoutes } from './dspace/actuator.ts'
import { signpostingRoutes } from './dspace/empty-answers.ts'
import { rootOf, rootRoutes } from './dspace/root.ts'
import { dspaceRoutes } from './dspace/routes.ts'
import { entityAdministration } from './entities/routes/routes.ts'
import { recordRoutes } from './entities/write/routes.ts'
import { severalRoutes } from './entities/write/several.ts'
import type { Store } from './features.ts'
import { contentRoutes } from './files/download.ts'
import { createHandOver } from './files/hand-over.ts'
import { createLeases } from './files/leases.ts'
import { openFiles } from './files/open-files.ts'
import { addressesOf } from './http/addresses.ts'
import { eventOf } from './http/audit.ts'
import { describedRoutes } from './http/contract.ts'
import { answerEmbeds } from './http/embed.ts'
import { guardRoutes } from './http/guard.ts'
import { createServer } from './http/server.ts'
import { healthRoutes, problemPages } from './http/start-routes.ts'
import { editingRoutes } from './items/write/routes.ts'
import { Tally } from './lib/tally.ts'
import { createThreads, type Threads } from './lib/threads/thread.ts'
import { passwordMethod } from './model/accounts.ts'
import { type Limits, ownLimits } from './model/limits.ts'
import { createMeasures } from './model/measures.ts'
import { openapiRoutes } from './openapi/routes.ts'
import { loadRegistrations } from './people/registrations.ts'
import { peopleRoutes } from './people/routes.ts'
import { puppetDbServiceRoutes } from './query/puppetdb-service.ts'
import { queryRoutes } from './query/routes.ts'
import { waysToLogIn } from './sso/addresses.ts'
import { loadDirectory } from './sso/ldap/load.ts'
import { loadSingleSignOn } from './sso/load.ts'

/**
 * Builds the service: all of its wiring, in order. A request walks: headers → host → CORS → CSRF → caller →
 * route. Building is not listening: the process and every test call this.
 * @param limits those of the service, if this is one of several event loops; so are the threads
 */
export async function buildApp(
  config: Config,
  storage: Store,
  passwordCost?: PasswordCost,
  limits: Limits = ownLimits(config),
  threads: Threads = createThreads(),
): Promise<FastifyInstance> {
  const tally = new Tally(limits.rows)
  const measures = createMeasures(tally, config)
  const { accessTokens, alerts, clock, entities, identities, people, registry, repository, sessions, trail } =
    storage
  const addresses = addressesOf(config)
  const ways = waysToLogIn(config, addresses)
  const authentication = await createAuthentication({ config, limits, measures, passwordCost, storage, ways })
  const { csrf, keyring, lookAgain, newSessions, offer } = authentication
  const { passwords, specialGroups, throttle, tickets, tokens } = authentication

  const served = { config, addresses, challenge: offer.challenge, csrf, measures, limits }
  const app = createServer({ ...served, isProxy: networkOf(config.trustedProxies) })
  const routes = describedRoutes(app)
  const vouching = { identities, log: app.log, newSessions, sessions, specialGroups }
  const working = { limits, measures, threads }
  const single = await loadSingleSignOn(config, { ...vouching, ...working, addresses, clock, keyring })
  const directory = await loadDirectory(config, { ...vouching, queue: limits.directory, throttle })
  const registrations = await loadRegistrations(config, { app, people, passwords, tickets, trail })
  const factorParts = { ...authentication.factorParts, tellOwner: registrations?.tellOwner ?? (() => {}) }
  const managing = { addresses, config, limits, lookAgain, measures, specialGroups, storage, tally }
  const administration = await createAdministration(app, managing)
  const leases = createLeases({ config, people, sessions, specialGroups, tokens })
  const files = await openFiles(config.files, repository, measures.bucketRequest)
  const health = { ping: storage.ping, requireFiles: files.require, loops: limits.loops, phase: limits.phase }

  healthRoutes(app, health)
  limits.passwords.measure(measures.queue('passwords'))
  if (directory) limits.directory.measure(measures.queue('directory'))
  storage.metrics.countQueues(measures.queue)
  metricsRoutes(app, { clock, config, limits, tally, metrics: storage.metrics })
  signpostingRoutes(app)
  consoleRoutes(app, { config, folder: builtFolder, root: rootOf(addresses) })
  // All routes inside know their caller.
  await app.register(async inside => {
    const password = config.loginMethods.includes(passwordMethod)
    const shown = { addresses, asksAgreement: config.endUserAgreement, config }
    inside.addHook('onRequest', authenticate({ ...authentication, config, measures, people, sessions }))
    guardRoutes(inside)
    lookAgain.guard(inside)
    await inside.register(
      async authn => {
        authnRoutes(authn, {
          ...{ ...shown, accessTokens, clock, csrf, people, sessions, trail },
          ...{ factorParts, newSessions, offer, passwords, specialGroups, throttle, tickets, tokens },
          ...{ directory, password, trade: single?.trade, offerLogout: single?.offerLogout },
        })
        single?.register(authn)
      },
      { prefix: '/api/authn' },
    )
    await inside.register(
      async api => {
        rootRoutes(api, { addresses, csrf })
        problemPages(api, addresses)
        openapiRoutes(api, { config, entities, routes })
        const processRoutes = await administration.register(api, entityAdministration)
        contentRoutes(api, {
          ...{ repository, files, leases, limits },
          handOver: createHandOver(config, files),
          recordDownload: (caller, request, object) =>
            trail.record(eventOf(caller, request, { event: 'download', outcome: 'success', object })),
        })
        // Resources that link to each other; they answer to `embed`.
        await api.register(async hal => {
          answerEmbeds(hal, addresses)
          await peopleRoutes(hal, {
            ...{ ...shown, accessTokens, people, sessions, trail },
            ...{ csrf, factorParts, password, passwords, registrations, throttle },
          })
          dspaceRoutes(hal, { ...shown, alerts, entities, people, registry, repository, sessions })
          const { uploads } = administration
          await editingRoutes(hal, { ...shown, files, people, repository, uploads })
          processRoutes(hal)
        })
      },
      { prefix: '/api' },
    )
    actuatorRoutes(inside, { ...health, addresses, engine: config.database.kind })
    puppetDbServiceRoutes(inside, { entities, ping: storage.ping, config })
    await inside.register(
      async query => {
        queryRoutes(query, { addresses, entities, config, keyring, lookAgain, ...working })
        recordRoutes(query, { addresses, entities, config, limits, trail })
        severalRoutes(query, { entities, limits, trail })
      },
      { prefix: config.queryBase },
    )
  })
  return app
}
