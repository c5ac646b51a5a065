import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { buildApp } from '../../../src/app.ts'
import { hashPassword, type PasswordCost } from '../../../src/authn/passwords.ts'
import { commandEvent, openStore } from '../../../src/cli/store.ts'
import { type Config, toConfig } from '../../../src/config/config.ts'
import { importRecords } from '../../../src/entities/import-entity.ts'
import type { Store } from '../../../src/features.ts'
import type { Eperson } from '../../../src/model/accounts.ts'
import type { Entity, ReadRule } from '../../../src/model/entities.ts'
import type { ClientLimits } from '../../../src/storage/postgres/errors.ts'
import { Client } from '../clients/client.ts'
import { watchAnswers } from '../contracts/watch.ts'
import { atEnd } from './at-end.ts'
import { createEmbeddedStore } from './embedded-stores.ts'
import { type Engine, engineIn, storeSettings, useDatabase } from './engines.ts'
import { scratch } from './postgres-server.ts'
import { patience } from './waiting.ts'

/** The public address in the tests. Links must start with it, whatever address was requested. */
export const baseUrl = 'http://repo.example.edu'

/** The Host header of requests that tests write by hand. */
const ownHost = 'service.test'

/** A really listening service with a store of its own, stopped at the end of the test. */
export interface Service {
  readonly address: string
  readonly dataFolder: string
  readonly config: Config
  readonly storage: Store
  readonly app: FastifyInstance
  /** Returns a new client, without cookies and token. */
  client(): Client
  /** Returns a new client that is logged in with the password that `addEperson` gave. */
  loggedIn(email: string): Promise<Client>
  /** Adds an eperson, by default with the password `secret of <email>`. */
  addEperson(email: string, options?: NewPerson): Promise<Eperson>
  /** Adds an eperson. @returns a new client that is logged in as them */
  addLoggedIn(email: string, options?: Omit<NewPerson, 'password'>): Promise<Client>
  /** Replaces the entity's records. */
  addRecords(entity: string, key: Entity['key'], records: readonly object[], read?: ReadRule): Promise<void>
  /** Stops the service before the end of the test, such as to start another one on the same data folder. */
  stop(): Promise<void>
}

interface NewPerson {
  readonly admin?: boolean
  readonly groups?: readonly string[]
  /** null for an account without a password. */
  readonly password?: Uint8Array | string | null
}

export const passwordOf = (email: string): string => `secret of ${email}`

export interface StartOptions {
  /** Settings that override the tests' own. */
  readonly env?: Readonly<Record<string, string>>
  readonly dataFolder?: string
  readonly engine?: Engine
  /** True gives passwords the cost of production. By default they cost almost nothing. */
  readonly realPasswords?: boolean
  /**
   * The service's limits for a database that doesn't answer. By default, a slow machine doesn't reach them.
   */
  readonly limits?: Partial<ClientLimits>
  /** Called with what keeps nodes from sharing what they derive. */
  readonly tell?: (problem: string) => void
}

/**
 * Limits longer than the service's own, so that a slow machine isn't taken for a database that doesn't
 * answer.
 */
export const patientLimits: ClientLimits = { connect: patience, statement: patience }

export async function startService(t: TestContext, options: StartOptions = {}): Promise<Service> {
  const dataFolder = options.dataFolder ?? temporaryFolder(t, options.engine)
  const config = toConfig({
    ...(await storeSettings(dataFolder)),
    CARREL_BASE_URL: baseUrl,
    CARREL_ALLOWED_HOSTS: ownHost,
    CARREL_LOG_LEVEL: 'silent',
    CARREL_PASSWORD_CONCURRENCY: '2',
    ...options.env,
  })
  if (config.database.kind === 'embedded') createEmbeddedStore(config.dataFolder)
  const limits = { ...patientLimits, ...options.limits }
  const storage = await openStore(config, { create: true, limits }, undefined, undefined, options.tell)
  const app = await buildApp(config, storage, options.realPasswords ? undefined : cheap)
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  let stopping: Promise<void> | undefined
  const stop = async () => {
    app.server.closeAllConnections()
    await app.close()
    await storage.close()
  }
  const stopOnce = () => {
    stopping ??= stop()
    return stopping
  }
  const addEperson: Service['addEperson'] = async (
    email,
    { admin = false, groups = [], password = passwordOf(email) } = {},
  ) => {
    const added = await storage.people.addEperson(
      {
        email,
        firstName: 'Test',
        lastName: 'Person',
        passwordHash: password === null ? null : await hashOf(password, options.realPasswords),
        administrator: admin,
      },
      commandEvent('eperson.add'),
    )
    if (added === 'exists') throw new Error(`${email} exists already`)
    await storage.people.ensureGroups(groups)
    for (const group of groups) await storage.people.join(group, email, commandEvent('group.join'))
    return added
  }
  const loggedIn = async (email: string) => {
    const client = new Client(address)
    await client.login(email)
    return client
  }
  watchAnswers(t, app, config)
  atEnd(t, stopOnce)
  return {
    address,
    dataFolder,
    config,
    storage,
    app,
    client: () => new Client(address),
    loggedIn,
    addLoggedIn: async (email, options) => {
      await addEperson(email, options)
      return loggedIn(email)
    },
    addEperson,
    addRecords: async (entity, key, records, read = 'anonymous') => {
      const batch = records.map((record, at) => ({ line: at + 1, record: { ...record } }))
      await importRecords(
        (async function* () {
          yield batch
        })(),
        storage.entities,
        { name: entity, key, read, replace: true, event: commandEvent('entity.import') },
        () => {},
      )
    },
    stop: stopOnce,
  }
}

/** The lowest cost that argon2id allows. */
const cheap: PasswordCost = { memory: 8, passes: 1, parallelism: 1, refusal: 0 }
const hashes = new Map<string, Promise<string>>()

/** Hashes a password, once per test file, because a real hash takes time. */
export function hashOf(password: Uint8Array | string, real = false): Promise<string> {
  const bytes = Buffer.from(password)
  const kind = real ? 'real' : 'cheap'
  const name = `${kind} ${bytes.toString('hex')}`
  const known = hashes.get(name) ?? hashPassword(bytes, real ? undefined : cheap)
  hashes.set(name, known)
  return known
}

/**
 * Creates a folder for files which, if a service or a command is started on it, becomes the folder of a
 * store.
 */
export function temporaryFolder(t: TestContext, engine: Engine = engineIn(t)): string {
  const folder = mkdtempSync(join(scratch, 'carrel-test-'))
  atEnd(t, () => rmSync(folder, { recursive: true, force: true }))
  if (engine === 'postgres') useDatabase(t, folder)
  return folder
}
