import pg from 'pg'
import { clientLimits } from '../../../src/storage/postgres/errors.ts'
import { patience } from './waiting.ts'

/**
 * Loaded into processes of their own (`--require`), as `startService` does it in this one: on a machine that stops for some
 * seconds, a database that answers late is no database that doesn't answer. Limits that a test has set stay.
 */
function patient<T extends pg.ClientConfig>(options: T): T {
  const longer = (limit: number | undefined) => (limit === clientLimits.statement ? patience : limit)
  return {
    ...options,
    connectionTimeoutMillis: Math.max(options.connectionTimeoutMillis ?? 0, patience),
    query_timeout: longer(options.query_timeout),
    statement_timeout: longer(options.statement_timeout || undefined),
  }
}

const { Client, Pool } = pg
Object.assign(pg, {
  Client: class extends Client {
    constructor(options: pg.ClientConfig) {
      super(patient(options))
    }
  },
  Pool: class extends Pool {
    constructor(options: pg.PoolConfig) {
      super(patient(options))
    }
  },
})
