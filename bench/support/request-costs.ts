/** What a request costs, as `bench/request-costs.ts` measured it. */
export interface RequestCost {
  readonly perSecond: number
  /** Processor time in µs of the node and of PostgreSQL. */
  readonly nodeMicros: number
  readonly databaseMicros: number
  /** Statements that read and that write. Requests that arrive together share some. */
  readonly reads: number
  readonly writes: number
  readonly walBytes: number
  readonly latencyMs: number
}

export interface Costs {
  readonly machine: string
  /** Load average at the end. */
  readonly load: number
  readonly day: string
  /** `together`: 32 connections, or 8 for logins; `alone`: one connection, so that no statement is shared. */
  readonly requests: Readonly<
    Record<
      'status' | 'page' | 'refresh' | 'shortLived' | 'download' | 'login',
      { readonly together: RequestCost; readonly alone: RequestCost }
    >
  >
}
