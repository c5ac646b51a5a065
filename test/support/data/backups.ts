import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { BackedUpFile, LostContent } from '../../../src/admin/backup/manifest.ts'
import { commandEvent } from '../../../src/cli/store.ts'
import { createDatabase } from '../service/databases.ts'
import { type Engine, useDatabase } from '../service/engines.ts'
import { carrel, type Finished } from '../service/process.ts'
import { type Service, startService, temporaryFolder } from '../service/service.ts'
import { assertCounts, ingest, withoutBar, writeLetters } from './archives.ts'
import { changeText, importText } from './imports.ts'
import { deleteRecord, putRecord } from './record-writes.ts'

export interface BackupSaid {
  readonly name: string
  readonly contents: { readonly count: number; readonly bytes: number }
  readonly copied: { readonly count: number; readonly bytes: number }
  readonly removed: { readonly backups: readonly string[]; readonly contents: number }
  readonly lost: readonly LostContent[]
}

export function assertDone({ code, stdout, stderr }: Finished): string {
  assert.equal(code, 0, stdout + stderr)
  assert.equal(withoutSteps(stderr), '')
  return stdout
}

/** Asserts one line on standard error, and nothing on standard output (D1). */
export function assertRefused({ code, stdout, stderr }: Finished, says: RegExp): void {
  assert.equal(code, 1, stdout + stderr)
  assert.equal(stdout, '')
  assert.match(withoutSteps(stderr), /^carrel: [^\n]+\n$/)
  assert.match(stderr, says)
  assert.doesNotMatch(stderr, /\.ts:\d|node:internal/, 'no stack')
}

/** Removes the progress, which is shown if the machine is slow. */
export const withoutSteps = (stderr: string): string =>
  withoutBar(stderr).replace(/^\S+ \[[=-]+\] .*\n/gm, '')

export async function backUp(dataFolder: string, folder: string, ...args: string[]): Promise<BackupSaid> {
  return JSON.parse(assertDone(await carrel(dataFolder, ['backup', folder, '--json', ...args]))) as BackupSaid
}

/** Returns a place without a store: a folder, and with PostgreSQL a database without a schema. */
export function emptyPlace(t: TestContext, engine: Engine): string {
  const folder = temporaryFolder(t, 'sqlite')
  if (engine === 'postgres') useDatabase(t, folder, createDatabase)
  return folder
}

export const restore = (dataFolder: string, folder: string, ...args: string[]): Promise<Finished> =>
  carrel(dataFolder, ['restore', folder, ...args])

export const verify = (folder: string): Promise<Finished> => carrel('/nowhere', ['backup', 'verify', folder])

/** Starts a service with epersons, groups, imported and changed records, items and files. */
export async function usedService(t: TestContext, letters = 4): Promise<Service> {
  const service = await startService(t)
  await service.addEperson('root@example.org', { admin: true })
  await service.addEperson('ruth@example.org', { groups: ['Readers', 'Löwe & "Söhne" \\ \u{1f989}'] })
  await service.addEperson('none@example.org', { password: null })
  await importText(service, '{"a":"ö","b":2}\n{"a":"z\\t\\\\","b":1}\n{"a":"ä","b":null}\n', {
    entity: 'several',
    key: 'a',
    collations: new Map([['a', 'sv']]),
  })
  await service.addRecords(
    'books',
    'id',
    [
      { id: 1, of: 'one' },
      { id: 2, of: 'two' },
    ],
    'group:Readers',
  )
  await changeText(service, '{"id":2,"of":"changed"}\n{"id":0,"of":"new"}\n', {
    entity: 'books',
    kind: 'update',
  })
  await changeText(service, '{"id":1}\n', { entity: 'books', kind: 'delete' })
  await writeSome(service)
  await addLetters(t, service, letters)
  return service
}

/** Writes single records that are in no version of the entity yet. */
async function writeSome(service: Service): Promise<void> {
  await service.storage.entities.changeWriteRule('books', 'group:Readers', commandEvent('entity.writers'))
  const client = service.client()
  await client.login('root@example.org')
  await putRecord(client, 'books', 2, { of: 'written' })
  await putRecord(client, 'books', 7, { of: 'written, too' })
  await deleteRecord(client, 'books', 0)
}

/** Adds items with three files each, one of which is the same for all. */
export async function addLetters(
  t: TestContext,
  { dataFolder }: Pick<Service, 'dataFolder'>,
  count: number,
  folder = 'letters',
): Promise<void> {
  const text = (at: number) => `${folder} ${at}`
  const source = writeLetters(join(temporaryFolder(t, 'sqlite'), folder), count, text)
  assertCounts(await ingest(dataFolder, source, '--read', 'anonymous'), { added: count })
}

/** Returns every path below a folder with its mode, such as `700`. */
export const modesBelow = (folder: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(path => [
      path,
      (statSync(join(folder, path)).mode & 0o777).toString(8),
    ]),
  )

/** Returns the path of a content in a folder of backups. */
export const placeIn = (folder: string, { sha256 }: Pick<BackedUpFile, 'sha256'>): string =>
  join(folder, 'contents', sha256.slice(0, 2), sha256.slice(2, 4), sha256)
