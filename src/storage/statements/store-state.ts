import type { Change, Offered, Read } from './statements.ts'
import * as db from './statements.ts'

const demoStates = ['none', 'begun', 'complete'] as const
type DemoState = (typeof demoStates)[number]

/** Facts about the store as a whole. */
export const storeState = {
  reads: {
    /** The unique id of this store. A folder of files belongs to one store (docs/decisions/0012). */
    *storeId(): Read<string> {
      const id = yield* db.value<string>('SELECT store FROM state')
      if (id === undefined) throw new Error('the store has lost its state row')
      return id
    },
    /** The id of the store that this one is a copy of; null when it is none. */
    *copiedFrom(): Read<string | null> {
      const sql = "SELECT object FROM event WHERE event = 'store.copy' ORDER BY id DESC LIMIT 1"
      // `carrel copy` copies to PostgreSQL only. A store restored from a backup of a copy has the copy's event.
      return (yield* db.value<string | null>({ sqlite: 'SELECT NULL AS object', postgres: sql })) ?? null
    },
    /** Tells how far the demo of this store is, which nothing but a start adds to (D4). */
    *demo(): Read<DemoState> {
      return demoStates[(yield* db.value<number>('SELECT demo FROM state')) ?? 0] ?? 'none'
    },
  },
  changes: {
    *setDemo(state: DemoState): Change<void> {
      yield* db.run('UPDATE state SET demo = $1', demoStates.indexOf(state))
    },
  },
}

export type StoreState = Offered<typeof storeState>
