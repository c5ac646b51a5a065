import pg from 'pg'
import { clientLimits } from '../../../src/storage/postgres/errors.ts'
import { patience } from './waiting.ts'

/**
 * Raises the limits for database connections. Loaded with `--require` into processes of their own;
 * `startService` does the same in this one. On a machine that pauses for some seconds, a late answer must not
 * count as none. Limits set by a test stay.
 */
function patient<T extends pg.ClientConfig>(options: T): T {
  const longer = (limit: number | undefined) => (limit === clientLimits.statement ? patience : limit)
  return {
    ...options,
    connectionTimeoutMillis: Math.max(options.connectionTimeoutMillis ?? 0, patience),
    query_timeout: longer(options.query_timeout),
  }
}

const settingTheLimit = `SET statement_timeout = ${clientLimits.statement};`

const { Client, Pool } = pg
Object.assign(pg, {
  Client: class extends Client {
    constructor(options: pg.ClientConfig) {
      super(patient(options))
      const query = this.query.bind(this) as (...given: readonly unknown[]) => unknown
      const patiently = (text: unknown, ...more: readonly unknown[]) =>
        query(
          typeof text === 'string'
            ? text.replace(settingTheLimit, `SET statement_timeout = ${patience};`)
            : text,
          ...more,
        )
      Object.assign(this, { query: patiently })
    }
  },
  Pool: class extends Pool {
    constructor(options: pg.PoolConfig) {
      super(patient(options))
    }
  },
})
