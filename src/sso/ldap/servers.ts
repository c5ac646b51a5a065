import type { FastifyBaseLogger } from 'fastify'
import type { LdapConfig } from '../../config/providers.ts'
import { type Connection, connect } from './connection.ts'
import { ServerFault } from './inbox.ts'

/** No server of the directory can be used. */
export class DirectoryUnavailable extends Error {}

export interface Servers {
  /**
   * Does the work with the first usable server. If a server fails, the work starts again with the next.
   * @throws DirectoryUnavailable if none can be used
   */
  use<T>(work: (connection: Connection) => Promise<T>): Promise<T>
}

/** Time in ms during which a failed server is tried last. */
const pause = 30_000

type Parts = Pick<LdapConfig, 'id' | 'servers' | 'ca' | 'timeout'>

export function createServers(parts: Parts, log: Pick<FastifyBaseLogger, 'warn'>): Servers {
  const states = parts.servers.map(server => ({ server, pausedUntil: 0 }))
  return {
    use: async work => {
      const now = performance.now()
      for (const state of states.toSorted((a, b) => rankAt(now, a) - rankAt(now, b))) {
        const { host, port } = state.server
        try {
          const done = await converse(state.server, parts, work)
          state.pausedUntil = 0
          return done
        } catch (error) {
          if (!(error instanceof ServerFault)) throw error
          // Logged once for each pause, however many logins were waiting.
          if (state.pausedUntil > performance.now()) continue
          log.warn(
            { provider: parts.id, server: `${host}:${port}`, why: error.message },
            'a directory server failed',
          )
          state.pausedUntil = performance.now() + pause
        }
      }
      throw new DirectoryUnavailable(`no server of the directory ${parts.id} can be used`)
    },
  }
}

const rankAt = (now: number, { pausedUntil }: { readonly pausedUntil: number }) => Math.max(now, pausedUntil)

/** @throws ServerFault */
export async function converse<T>(
  server: LdapConfig['servers'][number],
  parts: Pick<LdapConfig, 'ca' | 'timeout'>,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await connect(server, parts)
  try {
    return await work(connection)
  } finally {
    connection.close()
  }
}
