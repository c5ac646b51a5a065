import { once } from 'node:events'
import { createServer } from 'node:net'
import { Command } from 'commander'
import type { FastifyInstance } from 'fastify'
import { toConfig } from '../config/config.ts'
import type { Storage } from '../storage/storage.ts'
import { createDemo } from './demo.ts'
import { Failure } from './failures.ts'
import { say } from './output.ts'
import { openStore } from './store.ts'

/** What is under way may take this long to finish after SIGTERM, in ms (D4). */
const graceToFinish = 10_000

/** `carrel serve`: the process that answers. */
export function serveCommand(): Command {
  return new Command('serve')
    .description('Start the service.')
    .option(
      '--demo',
      'when the store is new: add an administrator, epersons, groups, 10,000 records and some files to try things on',
    )
    .action(async ({ demo }: { demo?: boolean }) => {
      const config = await withFreePort(process.env)
      const storage = await openStore(config, { create: true })
      try {
        // Only here: it takes longer to load than other commands to run.
        const { buildApp } = await import('../app.ts')
        const app = await buildApp(config, storage)
        await app.listen({ host: config.host, port: config.port }).catch(error => {
          throw listenFailure(error, config.host, config.port)
        })
        stopOnSignal(app, storage)
        // Not before it listens: a start that fails leaves the store as it was.
        const created = demo ? await createDemo(storage, config.filesFolder) : undefined
        say(`Carrel answers at ${config.baseUrl}/api (listening on ${config.host}:${config.port}).`)
        if (created)
          say(
            created.introduction(
              `${config.baseUrl}/api`,
              `${config.baseUrl}${config.queryBase}`,
              config.database.kind === 'embedded' ? config.dataFolder : 'the database',
            ),
          )
        else if (demo)
          say(
            'The store was in use before, and nothing was added. A new password for a demo eperson: ' +
              '«carrel eperson password reader@example.org».',
          )
      } catch (error) {
        await storage.close()
        throw error
      }
    })
}

/** What the operating system says when an address can't be listened on, with what helps. */
function listenFailure(error: unknown, host: string, port: number): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE')
    return new Failure(
      `port ${port} on ${host} is taken; set CARREL_PORT to another, or stop what listens there`,
    )
  if (code === 'EACCES')
    return new Failure(`port ${port} is not ours to take; set CARREL_PORT to one above 1023`)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new Failure(`this machine has no address ${host}; set CARREL_HOST to one that it has`)
  return error
}

/** Port 0 is any free one; links need its number before the service listens. */
async function withFreePort(env: NodeJS.ProcessEnv) {
  const config = toConfig(env)
  if (config.port !== 0) return config
  const probe = createServer().listen(0, config.host)
  await once(probe, 'listening').catch(error => {
    throw listenFailure(error, config.host, 0)
  })
  const address = probe.address()
  probe.close()
  return toConfig({ ...env, CARREL_PORT: String(typeof address === 'object' && address ? address.port : 0) })
}

function stopOnSignal(app: FastifyInstance, storage: Storage): void {
  let stopping = false
  const stop = async () => {
    // A second signal doesn't wait.
    if (stopping) process.exit(1)
    stopping = true
    const impatience = setTimeout(() => app.server.closeAllConnections(), graceToFinish)
    // Connections that are kept alive end with the answer that is under way, not when their client thinks of it.
    const idle = setInterval(() => app.server.closeIdleConnections(), 50)
    await app.close()
    clearInterval(idle)
    clearTimeout(impatience)
    await storage.close()
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}
