import { once } from 'node:events'
import { createServer, isIPv6 } from 'node:net'
import { Command } from 'commander'
import type { FastifyInstance } from 'fastify'
import { type Config, toConfig } from '../config/config.ts'
import { administratorGroup } from '../model/accounts.ts'
import type { Storage } from '../storage/storage.ts'
import { createDemo, type Demo } from './demo.ts'
import { Failure } from './failures.ts'
import { ownCommand } from './given-path.ts'
import { announce } from './output.ts'
import { openStore, placeOf } from './store.ts'

/** Requests under way have this long to finish after SIGTERM, in ms (D4). */
const graceToFinish = 10_000

/** `carrel serve`: the service itself. */
export function serveCommand(): Command {
  return new Command('serve')
    .description('Start the service.')
    .option(
      '--demo',
      'in a new store, add an administrator, epersons, groups, 10,000 records and some files to try',
    )
    .action(async ({ demo }: { demo?: boolean }) => {
      const asked = toConfig(process.env)
      const storage = await openStore(asked, { create: true })
      try {
        const { app, config } = await listen(asked, storage)
        stopOnSignal(app, storage)
        // Not before it listens: a start that fails adds nothing to the store.
        const created = demo ? await createDemo(storage, config.filesFolder) : undefined
        announceReady(config)
        await announceStore(config, storage)
        if (created) introduce(created, config)
        else if (demo)
          announce(
            'info',
            'The store was in use before, so nothing was added. For a new password of a demo eperson, run ' +
              `\`${ownCommand()} eperson password reader@example.org\`.`,
            { msg: 'the store was in use before: no demo was added' },
          )
      } catch (error) {
        await storage.close()
        throw error
      }
    })
}

/** Builds the service and listens. Port 0 means any free one, which another program may take before it is listened on. */
async function listen(asked: Config, storage: Storage) {
  // Imported here, because it takes longer to load than other commands take to run.
  const { buildApp } = await import('../app.ts')
  for (let attempt = 1; ; attempt++) {
    const config = asked.port === 0 ? await withFreePort(asked) : asked
    const app = await buildApp(config, storage)
    try {
      await app.listen({ host: config.host, port: config.port })
      return { app, config }
    } catch (error) {
      await app.close()
      if (asked.port === 0 && codeOf(error) === 'EADDRINUSE' && attempt < maxAttempts) continue
      throw listenFailure(error, config.host, config.port)
    }
  }
}
const maxAttempts = 5

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

/** The one line with the address (D4). */
function announceReady({ baseUrl, host, port }: Config): void {
  const address = `${baseUrl}/api`
  const listening = `${isIPv6(host) ? `[${host}]` : host}:${port}`
  announce('info', `Carrel answers at ${address} (listening on ${listening}).`, {
    address,
    listening,
    msg: 'ready',
  })
}

/** What somebody who starts a service on a new store must know. */
async function announceStore(config: Config, { isNew, accounts }: Storage): Promise<void> {
  const store = placeOf(config)
  if (isNew) announce('info', `Created a new store in ${store}.`, { store, msg: 'created a new store' })
  const groups = await accounts.listGroups()
  if (groups.some(({ name, members }) => name === administratorGroup && members > 0)) return
  const command = `${ownCommand()} eperson add <email> --admin`
  announce('warn', `There is no administrator. To add one, run \`${command}\`.`, {
    msg: `there is no administrator; to add one, run \`${command}\``,
  })
}

/** Passwords and instructions are for a person: never in a log, so on standard error where the output is one. */
function introduce(demo: Demo, config: Config): void {
  const { baseUrl, queryBase } = config
  const text = demo.introduction(`${baseUrl}/api`, `${baseUrl}${queryBase}`, placeOf(config))
  const stream = process.stdout.isTTY ? process.stdout : process.stderr
  stream.write(`${text}\n`)
}

/** Why an address can't be listened on, with what helps. */
function listenFailure(error: unknown, host: string, port: number): unknown {
  const code = codeOf(error)
  if (code === 'EADDRINUSE')
    return new Failure(
      `port ${port} on ${host} is in use; set CARREL_PORT to another port, or stop the program that uses it`,
    )
  if (code === 'EACCES')
    return new Failure(`port ${port} needs more rights than this user has; set CARREL_PORT to one above 1023`)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new Failure(`this machine has no address ${host}; set CARREL_HOST to one that it has`)
  return error
}

/** Links need the number of the port before the service listens. */
async function withFreePort({ host }: Config): Promise<Config> {
  const probe = createServer().listen(0, host)
  await once(probe, 'listening').catch(error => {
    throw listenFailure(error, host, 0)
  })
  const address = probe.address()
  probe.close()
  return toConfig({
    ...process.env,
    CARREL_PORT: String(typeof address === 'object' && address ? address.port : 0),
  })
}

function stopOnSignal(app: FastifyInstance, storage: Storage): void {
  let stopping = false
  const stop = async () => {
    // A second signal doesn't wait.
    if (stopping) process.exit(1)
    stopping = true
    const deadline = setTimeout(() => app.server.closeAllConnections(), graceToFinish)
    // A kept-alive connection ends with its current response, not when its client closes it.
    const idle = setInterval(() => app.server.closeIdleConnections(), 50)
    await app.close()
    clearInterval(idle)
    clearTimeout(deadline)
    await storage.close()
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}
