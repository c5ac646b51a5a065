import type { FastifyInstance } from 'fastify'
import { adminRoutes } from './admin/routes.ts'
import { eventOf } from './authn/audit.ts'
import { authenticate } from './authn/authenticate.ts'
import { challengeOf } from './authn/challenge.ts'
import { changePasswordRoutes } from './authn/change-password.ts'
import { loadDirectory } from './authn/ldap/load.ts'
import { loginRoutes } from './authn/login.ts'
import { logoutRoutes } from './authn/logout.ts'
import { createOnBehalfOf } from './authn/on-behalf-of.ts'
import { createPasswords, type PasswordCost } from './authn/passwords.ts'
import { shortLivedTokenRoutes } from './authn/short-lived-tokens.ts'
import { createSpecialGroups } from './authn/special-groups.ts'
import { waysToLogIn } from './authn/sso/addresses.ts'
import { loadSingleSignOn } from './authn/sso/load.ts'
import { statusRoutes } from './authn/status.ts'
import { createThrottle } from './authn/throttle.ts'
import { createTickets } from './authn/tickets.ts'
import { createTokens } from './authn/tokens.ts'
import type { Config } from './config/config.ts'
import { createHandOver } from './downloads/hand-over.ts'
import { createLeases } from './downloads/leases.ts'
import { contentRoutes } from './downloads/route.ts'
import { authorizationRoutes } from './dspace/authorizations.ts'
import { bitstreamRoutes } from './dspace/bitstreams.ts'
import { emptyAnswerRoutes, signpostingRoutes } from './dspace/empty-answers.ts'
import { epersonRoutes } from './dspace/epersons.ts'
import { findRoutes } from './dspace/find.ts'
import { groupRoutes } from './dspace/groups.ts'
import { itemRoutes } from './dspace/items.ts'
import { rootRoutes } from './dspace/root.ts'
import { siteRoutes } from './dspace/sites.ts'
import { createFileStore } from './files/file-store.ts'
import { requireFolder } from './files/require-folder.ts'
import { addressesOf } from './http/addresses.ts'
import { describeFault } from './http/answer-problems.ts'
import { createCsrf } from './http/csrf.ts'
import { healthRoutes } from './http/health.ts'
import { problemPages } from './http/problem-pages.ts'
import { createServer } from './http/server.ts'
import { Tally } from './lib/tally.ts'
import { countLogins } from './metrics/count-logins.ts'
import { metricsRoutes } from './metrics/route.ts'
import { passwordMethod } from './model/accounts.ts'
import { keyringOf } from './model/keys.ts'
import { type Limits, ownLimits } from './model/limits.ts'
import { createMeasures } from './model/measures.ts'
import { createProcesses } from './processes/processes.ts'
import { puppetDbServiceRoutes } from './query/puppetdb/service.ts'
import { queryRoutes } from './query/routes.ts'
import type { Storage } from './storage/storage.ts'
import { createThreads, type Threads } from './threads/threads.ts'

/**
 * The wiring, all of it and in order. A request walks: headers → host → CORS → CSRF → caller → route.
 * Building is not listening: the process and every test call this.
 * @param limits those of the service, if this is one of several event loops; so are the threads
 */
export async function buildApp(
  config: Config,
  store: Storage,
  passwordCost?: PasswordCost,
  limits: Limits = ownLimits(config),
  threads: Threads = createThreads(),
): Promise<FastifyInstance> {
  const tally = new Tally(limits.rows)
  const measures = createMeasures(tally, config.loginMethods)
  const storage = countLogins(store, measures)
  const { accounts, clock, entities, identities, repository, secrets } = storage
  const keyring = keyringOf(config.tokenSecrets, secrets.current)

  const addresses = addressesOf(config)
  const challenge = challengeOf(waysToLogIn(config, addresses), config.realm)
  const csrf = createCsrf(config, keyring)
  const passwords = createPasswords(limits.passwords, passwordCost)
  const throttle = createThrottle({
    attempts: storage.attempts,
    keyring,
    measures,
    refusal: passwords.refusal,
    holdsWrong: Boolean(config.singleSignOn?.directory),
  })
  const specialGroups = await createSpecialGroups(config, accounts)
  const tokens = createTokens({
    accounts,
    clock,
    config,
    keyring,
    loginMethods: config.loginMethods,
    tickets: createTickets(identities, clock),
    mayAct: config.loginOnBehalfOf,
    measures,
  })
  const leases = createLeases({ accounts, config, specialGroups, tokens })
  const onBehalfOf = createOnBehalfOf({ accounts, config })

  const app = createServer({ config, addresses, challenge, csrf, measures })
  const runner = createProcesses({
    processes: storage.processes,
    report: (id, fault) => app.log.error({ process: id, fault: describeFault(fault) }, 'a process failed'),
  })
  app.addHook('onClose', runner.close)
  const vouching = { accounts, clock, identities, log: app.log, specialGroups }
  const working = { limits, measures, threads }
  const single = await loadSingleSignOn(config, { ...vouching, ...working, addresses, keyring })
  const directory = await loadDirectory(config, { ...vouching, queue: limits.directory, throttle })
  healthRoutes(app, {
    ping: storage.ping,
    requireFolder: () => requireFolder(config.filesFolder, repository),
    loops: limits.loops,
  })
  limits.passwords.measure(measures.queue('passwords'))
  if (directory) limits.directory.measure(measures.queue('directory'))
  storage.metrics.countQueues(measures.queue)
  metricsRoutes(app, { config, limits, tally, metrics: storage.metrics })
  signpostingRoutes(app)
  // Everything inside knows who is asking.
  await app.register(async inside => {
    const password = config.loginMethods.includes(passwordMethod)
    inside.addHook('onRequest', authenticate({ accounts, tokens, specialGroups, onBehalfOf }))
    await inside.register(
      async authn => {
        const trade = single?.trade
        const more = { clock, directory, passwords, specialGroups, throttle, tokens, password, trade }
        loginRoutes(authn, { accounts, config, csrf, ...more })
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
        groupRoutes(api, { accounts, addresses })
        changePasswordRoutes(api, { accounts, addresses, csrf, passwords, throttle, password })
        siteRoutes(api, { addresses, config })
        emptyAnswerRoutes(api, addresses)
        itemRoutes(api, { addresses, config, entities, repository })
        bitstreamRoutes(api, { addresses, config, entities, repository })
        findRoutes(api, { addresses, config, repository })
        contentRoutes(api, {
          repository,
          files: createFileStore(config.filesFolder),
          leases,
          limits,
          handOver: createHandOver(config),
          recordDownload: (caller, request, object) =>
            accounts.recordEvent(eventOf(caller, request, { event: 'download', outcome: 'success', object })),
        })
        authorizationRoutes(api, { accounts, addresses, config, repository })
        await adminRoutes(api, {
          accounts,
          addresses,
          config,
          entities,
          ...runner,
          processes: storage.processes,
        })
      },
      { prefix: '/api' },
    )
    puppetDbServiceRoutes(inside, { entities, ping: storage.ping, config })
    await inside.register(async query => queryRoutes(query, { addresses, entities, config, ...working }), {
      prefix: config.queryBase,
    })
  })
  return app
}
