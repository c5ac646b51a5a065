import type { FastifyInstance } from 'fastify'
import { reads } from '../http/access.ts'
import type { Addresses } from '../http/addresses.ts'
import { contractsIn, routesOf } from '../http/contract.ts'
import { version } from '../lib/version.ts'

const route = contractsIn(() => import('./system-contracts.ts'))

interface Parts {
  readonly addresses: Addresses
  /** Rejects when the store does not answer. */
  readonly ping: () => Promise<void> | void
  /** Rejects when the folder of files is lost. */
  readonly requireFiles: () => Promise<void>
  readonly loops: () => { readonly running: number; readonly wanted: number; readonly replaced: number }
  /** The kind of database: `embedded` or `postgres`. */
  readonly engine: string
}

type Status = { readonly status: 'UP' | 'DOWN'; readonly details: Readonly<Record<string, string | number>> }

/**
 * `/actuator/health` and `/actuator/info`, which the health page of DSpace's interface reads for
 * administrators. The status of a part that is down is in the body, as the interface expects it; monitors get
 * it as the status of `/health/ready`.
 */
export function actuatorRoutes(
  app: FastifyInstance,
  { addresses, ping, requireFiles, loops, engine }: Parts,
): void {
  const routes = routesOf(app)
  const here = addresses.api.replace(/\/api$/, '/actuator')
  const statusOf = async (check: () => Promise<void> | void, details: Status['details']): Promise<Status> => {
    try {
      await check()
      return { status: 'UP', details }
    } catch {
      return { status: 'DOWN', details: { ...details, error: 'It does not answer. The log says why.' } }
    }
  }

  routes.get('/actuator', route('showActuator', reads('anybody', 'none')), async () => ({
    type: 'actuator',
    _links: {
      self: { href: here },
      health: { href: `${here}/health` },
      info: { href: `${here}/info` },
    },
  }))
  routes.get('/actuator/health', route('showHealth', reads('administrator', 'none')), async _request => {
    const { running, wanted, replaced } = loops()
    const components = {
      store: await statusOf(ping, { engine }),
      files: await statusOf(requireFiles, {}),
      workers: {
        status: running < wanted ? 'UP_WITH_ISSUES' : 'UP',
        details: { running, wanted, replaced },
      },
    }
    const states = Object.values(components).map(({ status }) => status)
    const status = states.includes('DOWN')
      ? 'DOWN'
      : states.includes('UP_WITH_ISSUES')
        ? 'UP_WITH_ISSUES'
        : 'UP'
    return { status, components }
  })
  routes.get('/actuator/info', route('showInfo', reads('administrator', 'none')), async _request => {
    return {
      app: { name: 'Carrel', version, address: addresses.api.replace(/\/api$/, '') },
      node: { name: 'Node.js', version: process.version, platform: process.platform, arch: process.arch },
      store: { engine },
    }
  })
}
