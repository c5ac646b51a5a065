import { createServer } from 'node:net'
import { Command } from 'commander'
import type { FastifyInstance } from 'fastify'
import { buildApp } from '../app.ts'
import { toConfig } from '../config.ts'
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
      'when the store is new: add an administrator, epersons, groups and 10,000 records to try things on',
    )
    .action(async ({ demo }: { demo?: boolean }) => {
      const config = await withFreePort(process.env)
      const storage = await openStore(config)
      try {
        const created = demo ? await createDemo(storage) : undefined
        const app = await buildApp(config, storage)
        await listen(app, config.host, config.port)
        stopOnSignal(app, storage)
        say(`Carrel answers at ${config.baseUrl}/api (listening on ${config.host}:${config.port}).`)
        if (created)
          say(
            created.introduction(
              `${config.baseUrl}/api`,
              `${config.baseUrl}${config.queryBase}`,
              config.dataFolder,
            ),
          )
      } catch (error) {
        await storage.close()
        throw error
      }
    })
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EADDRINUSE')
      throw new Failure(
        `port ${port} on ${host} is taken; set CARREL_PORT to another, or stop what listens there`,
      )
    if (code === 'EACCES')
      throw new Failure(`port ${port} is not ours to take; set CARREL_PORT to one above 1023`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new Failure(`this machine has no address ${host}; set CARREL_HOST to one that it has`)
    throw error
  }
}

/** Port 0 is any free one; links need its number before the service listens. */
async function withFreePort(env: NodeJS.ProcessEnv) {
  const config = toConfig(env)
  if (config.port !== 0) return config
  const probe = createServer()
  const port = await new Promise<number>((resolve, reject) => {
    probe.once('error', reject)
    probe.listen(0, config.host, () => {
      const address = probe.address()
      resolve(typeof address === 'object' && address ? address.port : 0)
    })
  })
  await new Promise(resolve => probe.close(resolve))
  return toConfig({ ...env, CARREL_PORT: String(port) })
}

function stopOnSignal(app: FastifyInstance, storage: Storage): void {
  let stopping = false
  const stop = async () => {
    // A second signal doesn't wait.
    if (stopping) process.exit(1)
    stopping = true
    const impatience = setTimeout(() => app.server.closeAllConnections(), graceToFinish)
    await app.close()
    clearTimeout(impatience)
    await storage.close()
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}
