import type { FastifyInstance } from 'fastify'
import { adminRoutes } from './admin/routes.ts'
import { accessTokenRoutes } from './authn/access-token-routes.ts'
import { createAskAgain } from './authn/ask-again.ts'
import { eventOf } from './authn/audit.ts'
import { authenticate, refuseShortLivedToken } from './authn/authenticate.ts'
import { createByMail } from './authn/by-mail.ts'
import { challengeOf } from './authn/challenge.ts'
import { changePasswordRoutes } from './authn/change-password.ts'
import { endSessionsRoutes } from './authn/end-sessions.ts'
import { loadDirectory } from './authn/ldap/load.ts'
import { loadRegistrations } from './authn/load-registrations.ts'
import { loginRoutes } from './authn/login.ts'
import { logoutRoutes } from './authn/logout.ts'
import { createOnBehalfOf } from './authn/on-behalf-of.ts'
import { createPasswords, type PasswordCost } from './authn/passwords.ts'
import { createPrograms } from './authn/programs.ts'
import { registrationRoutes } from './authn/registration-routes.ts'
import { sessionRoutes } from './authn/session-routes.ts'
import { createPatchOther } from './authn/set-password.ts'
import { shortLivedTokenRoutes } from './authn/short-lived-tokens.ts'
import { createSpecialGroups } from './authn/special-groups.ts'
import { waysToLogIn } from './authn/sso/addresses.ts'
import { loadSingleSignOn } from './authn/sso/load.ts'
import { statusRoutes } from './authn/status.ts'
import { createThrottle } from './authn/throttle.ts'
import { createTickets } from './authn/tickets.ts'
import { createTokens } from './authn/tokens.ts'
import type { Config } from './config/config.ts'
import { builtFolder } from './console/built.ts'
import { consoleRoutes } from './console/routes.ts'
import { createHandOver } from './downloads/hand-over.ts'
import { createLeases } from './downloads/leases.ts'
import { contentRoutes } from './downloads/route.ts'
import { actuatorRoutes } from './dspace/actuator.ts'
import { alertRoutes } from './dspace/alerts.ts'
import { auditEventRoutes } from './dspace/audit-events.ts'
import { authorizationRoutes } from './dspace/authorizations.ts'
import { bitstreamRoutes } from './dspace/bitstreams.ts'
import { changeEpersonRoutes, createPatchEperson } from './dspace/change-epersons.ts'
import { changeGroupRoutes } from './dspace/change-groups.ts'
import { emptyAnswerRoutes, signpostingRoutes } from './dspace/empty-answers.ts'
import { epersonRoutes } from './dspace/epersons.ts'
import { findRoutes } from './dspace/find.ts'
import { groupRoutes } from './dspace/groups.ts'
import { itemRoutes } from './dspace/items.ts'
import { metadataFieldRoutes } from './dspace/metadata-fields.ts'
import { rootOf, rootRoutes } from './dspace/root.ts'
import { siteRoutes } from './dspace/sites.ts'
import { editingRoutes } from './editing/routes.ts'
import { createFileStore } from './files/file-store.ts'
import { requireFolder } from './files/require-folder.ts'
import { addressesOf } from './http/addresses.ts'
import { describeFault } from './http/answer-problems.ts'
import { describedRoutes } from './http/contract.ts'
import { createCsrf } from './http/csrf.ts'
import { healthRoutes } from './http/health.ts'
import { problemPages } from './http/problem-pages.ts'
import { createServer } from './http/server.ts'
import { takeUriLists } from './http/uri-list.ts'
import { Tally } from './lib/tally.ts'
import { countLogins } from './metrics/count-logins.ts'
import { metricsRoutes } from './metrics/route.ts'
import { passwordMethod } from './model/accounts.ts'
import { keyringOf } from './model/keys.ts'
import { type Limits, ownLimits } from './model/limits.ts'
import { createMeasures } from './model/measures.ts'
import { openapiRoutes } from './openapi/routes.ts'
import { createOperator } from './operator/operator.ts'
import { createProcesses } from './processes/processes.ts'
import { processRoutes } from './processes/routes.ts'
import { scriptRoutes } from './processes/scripts.ts'
import { puppetDbServiceRoutes } from './query/puppetdb/service.ts'
import { queryRoutes } from './query/routes.ts'
import { recordRoutes } from './records/routes.ts'
import type { Storage } from './storage/storage.ts'
import { createThreads, type Threads } from './threads/threads.ts'
import { uploadsIn } from './uploads/folder.ts'
import { ingestRoutes } from './uploads/ingest-route.ts'
import { uploadRoutes } from './uploads/routes.ts'
import { createUploads } from './uploads/uploads.ts'

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
  const { accessTokens, accounts, clock, entities, identities, people, repository, secrets, sessions } =
    storage
  const asksAgreement = config.endUserAgreement
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
  const specialGroups = await createSpecialGroups(config, { accounts, people })
  const tickets = createTickets(identities, clock)
  const tokens = createTokens({
    accounts,
    clock,
    config,
    keyring,
    loginMethods: config.loginMethods,
    tickets,
    mayAct: config.loginOnBehalfOf,
    measures,
  })
  const leases = createLeases({ accounts, config, specialGroups, tokens })
  const programs = createPrograms({ accessTokens, accounts, clock, config, measures })
  const onBehalfOf = createOnBehalfOf({ accounts, config })
  const askAgain = createAskAgain({ accessTokens, accounts })

  const files = createFileStore(config.filesFolder)

  const app = createServer({ config, addresses, challenge, csrf, measures })
  const routes = describedRoutes(app)
  const runner = createProcesses({
    processes: storage.processes,
    report: (id, fault) => app.log.error({ process: id, fault: describeFault(fault) }, 'a process failed'),
  })
  app.addHook('preClose', runner.close)
  const vouching = { accounts, clock, identities, log: app.log, specialGroups }
  const working = { limits, measures, threads }
  const single = await loadSingleSignOn(config, { ...vouching, ...working, addresses, keyring })
  const directory = await loadDirectory(config, { ...vouching, queue: limits.directory, throttle })
  const registrations = await loadRegistrations(config, { app, accounts, people, passwords, tickets })
  const health = {
    ping: storage.ping,
    requireFolder: () => requireFolder(config.filesFolder, repository),
    loops: limits.loops,
  }
  healthRoutes(app, health)
  limits.passwords.measure(measures.queue('passwords'))
  if (directory) limits.directory.measure(measures.queue('directory'))
  storage.metrics.countQueues(measures.queue)
  metricsRoutes(app, { config, limits, tally, metrics: storage.metrics })
  signpostingRoutes(app)
  consoleRoutes(app, { config, folder: builtFolder, root: rootOf(addresses) })
  // Everything inside knows who is asking.
  await app.register(async inside => {
    const password = config.loginMethods.includes(passwordMethod)
    inside.addHook(
      'onRequest',
      authenticate({ accounts, config, measures, onBehalfOf, programs, specialGroups, tokens }),
    )
    await inside.register(
      async authn => {
        const trade = single?.trade
        const more = { clock, directory, passwords, sessions, specialGroups, throttle, tokens }
        loginRoutes(authn, { accounts, config, csrf, password, trade, ...more })
        logoutRoutes(authn, { accounts, config, csrf, offerLogout: single?.offerLogout, trade })
        statusRoutes(authn, { accounts, addresses, challenge, trade, asksAgreement })
        single?.register(authn)
        sessionRoutes(authn, { addresses, clock, config, sessions })
        accessTokenRoutes(authn, { accessTokens, addresses, clock, config })
        shortLivedTokenRoutes(authn, { accounts, addresses, config, tokens })
      },
      { prefix: '/api/authn' },
    )
    await inside.register(
      async api => {
        rootRoutes(api, { addresses, csrf })
        problemPages(api, addresses)
        openapiRoutes(api, { config, entities, routes })
        if (registrations) registrationRoutes(api, { addresses, csrf, registrations, throttle })
        const byMail = registrations && createByMail(registrations)
        const peopleParts = { accounts, people, addresses, config, eventOf, asksAgreement, byMail }
        epersonRoutes(api, peopleParts)
        groupRoutes(api, peopleParts)
        const patchEperson = createPatchEperson(peopleParts)
        const patchOther = createPatchOther({ ...peopleParts, passwords, patchEperson })
        const changing = { csrf, passwords, throttle, password, asksAgreement, patchOther, byMail }
        changePasswordRoutes(api, { accounts, addresses, ...changing })
        endSessionsRoutes(api, { accessTokens, accounts, addresses })
        await api.register(async changes => {
          changes.addHook('preParsing', refuseShortLivedToken)
          takeUriLists(changes)
          changeEpersonRoutes(changes, peopleParts)
          changeGroupRoutes(changes, peopleParts)
        })
        siteRoutes(api, { addresses, config })
        emptyAnswerRoutes(api, addresses)
        const operator = createOperator({ addresses, config, limits, specialGroups, storage, tally })
        const { scripts } = operator
        const { resume } = scriptRoutes(api, { addresses, scripts, start: runner.start })
        await operator.register(api)
        const uploading = { addresses, askAgain, config, folder: uploadsIn(config.dataFolder) }
        const uploads = createUploads(uploading.folder)
        const ingest = ingestRoutes(api, { ...uploading, accounts, repository, start: runner.start })
        processRoutes(api, {
          accounts,
          addresses,
          processes: storage.processes,
          resume: { ...resume, ingest: ingest.resume },
        })
        uploadRoutes(api, uploading)
        itemRoutes(api, { addresses, config, entities, repository })
        bitstreamRoutes(api, { addresses, config, entities, repository })
        findRoutes(api, { ...peopleParts, repository })
        await editingRoutes(api, { accounts, addresses, askAgain, config, files, repository, uploads })
        contentRoutes(api, {
          repository,
          files,
          leases,
          limits,
          handOver: createHandOver(config),
          recordDownload: (caller, request, object) =>
            accounts.recordEvent(eventOf(caller, request, { event: 'download', outcome: 'success', object })),
        })
        authorizationRoutes(api, { accounts, addresses, config, people, repository })
        const managing = { accounts, addresses, askAgain, config, entities, uploads }
        await adminRoutes(api, { ...managing, ...runner, processes: storage.processes })
        const { alerts } = storage.processes
        alertRoutes(api, { addresses, alerts, eventOf, beforeChanges: refuseShortLivedToken })
        auditEventRoutes(api, { ...peopleParts, entities, repository })
        metadataFieldRoutes(api, addresses)
      },
      { prefix: '/api' },
    )
    actuatorRoutes(inside, { ...health, addresses, engine: config.database.kind })
    puppetDbServiceRoutes(inside, { entities, ping: storage.ping, config })
    await inside.register(
      async query => {
        queryRoutes(query, { addresses, entities, config, ...working })
        recordRoutes(query, { addresses, entities, config, limits })
      },
      { prefix: config.queryBase },
    )
  })
  return app
}
