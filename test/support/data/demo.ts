import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { createDemo } from '../../../src/cli/demo.ts'
import { openStore } from '../../../src/cli/store.ts'
import { toConfig } from '../../../src/config/config.ts'
import { createEmbeddedStore } from '../service/embedded-stores.ts'
import { engineIn } from '../service/engines.ts'
import { scratch } from '../service/postgres-server.ts'
import {
  baseUrl,
  type Service,
  type StartOptions,
  startService,
  temporaryFolder,
} from '../service/service.ts'

let template: Promise<string> | undefined

after(async () => {
  if (template !== undefined) rmSync(await template, { recursive: true, force: true })
})

/**
 * Starts a service with the data of `--demo`. Its embedded store is created once in a process, and copied.
 */
export async function startDemoService(t: TestContext, options: StartOptions = {}): Promise<Service> {
  const engine = options.engine ?? engineIn(t)
  const dataFolder = temporaryFolder(t, engine)
  if (engine === 'sqlite') {
    template ??= createTemplate()
    cpSync(await template, dataFolder, { recursive: true })
    return startService(t, { ...options, dataFolder })
  }
  const service = await startService(t, { ...options, dataFolder })
  await createDemo(service.storage, service.config.files)
  return service
}

async function createTemplate(): Promise<string> {
  const folder = mkdtempSync(join(scratch, 'carrel-test-demo-'))
  const config = toConfig({ CARREL_DATA: folder, CARREL_BASE_URL: baseUrl, CARREL_LOG_LEVEL: 'silent' })
  createEmbeddedStore(folder)
  const storage = await openStore(config, { create: true })
  await createDemo(storage, config.files)
  await storage.close()
  return folder
}
