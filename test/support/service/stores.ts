import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { openStore } from '../../../src/cli/store.ts'
import { toConfig } from '../../../src/config/config.ts'
import type { Store } from '../../../src/features.ts'
import { createStore } from './databases.ts'
import { type Engine, engineIn, test } from './engines.ts'
import { scratch } from './postgres-server.ts'
import { patientLimits } from './service.ts'

/**
 * Declares tests of the storage interface, without HTTP, on each engine; both must behave alike. A file has
 * one store per engine for all its tests, so they use names of their own.
 */
export function storeTests(): (name: string, work: (storage: Store) => Promise<void>) => void {
  const stores = new Map<Engine, Promise<Opened>>()
  after(async () => {
    for (const opened of stores.values()) {
      const { storage, folder } = await opened
      await storage.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })
  return (name, work) =>
    test(name, async t => {
      const engine = engineIn(t)
      const opened = stores.get(engine) ?? open(engine)
      stores.set(engine, opened)
      await work((await opened).storage)
    })
}

interface Opened {
  readonly storage: Store
  readonly folder: string
}

async function open(engine: Engine): Promise<Opened> {
  const folder = mkdtempSync(join(scratch, 'carrel-test-'))
  const url = engine === 'postgres' ? await createStore(undefined) : undefined
  const settings = { CARREL_DATA: folder, ...(url !== undefined && { CARREL_DATABASE_URL: url }) }
  return { storage: await openStore(toConfig(settings), { create: true, limits: patientLimits }), folder }
}
