import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import {
  type ImportOptions,
  type ImportReport,
  importFile,
  type Progress,
} from '../../../src/entities/import-entity.ts'
import { type ReviseReport, reviseFile } from '../../../src/entities/revision.ts'
import type { HowRead } from '../../../src/import/reading-options.ts'
import type { ReadRule } from '../../../src/model/entities.ts'
import { databaseOf, runSqlIn } from '../service/engines.ts'
import { repository } from '../service/process.ts'
import type { Service } from '../service/service.ts'

interface FileImport
  extends Pick<ImportOptions, 'key' | 'types' | 'collations' | 'reading' | 'replace' | 'recipe'> {
  readonly entity: string
  readonly read?: ReadRule
  /** Name of the file. Its extension determines the format. */
  readonly file?: string
}

/** Imports a file with this content. */
export function importText(
  { storage, dataFolder }: Pick<Service, 'storage' | 'dataFolder'>,
  content: string | Uint8Array,
  { entity, read = 'anonymous', file = 'records.ndjson', ...fields }: FileImport,
): Promise<ImportReport & HowRead> {
  const path = join(dataFolder, file)
  writeFileSync(path, content)
  const options = { replace: true, ...fields, name: entity, read, event: commandEvent('entity.import') }
  return importFile(path, storage.entities, options, () => {})
}

/** Changes some records of an entity with a file of this content. */
export function changeText(
  { storage, dataFolder }: Pick<Service, 'storage' | 'dataFolder'>,
  content: string | Uint8Array,
  {
    entity,
    file = 'changes.ndjson',
    read = null,
    ...options
  }: Pick<Parameters<typeof reviseFile>[2], 'kind' | 'key' | 'reading' | 'signal'> & {
    readonly entity: string
    readonly file?: string
    readonly read?: ReadRule | null
  },
  progress: Progress = () => {},
): Promise<ReviseReport> {
  const path = join(dataFolder, file)
  writeFileSync(path, content)
  const event = commandEvent('entity.update')
  return reviseFile(path, storage.entities, { ...options, name: entity, read, event }, progress)
}

/** Returns the files or tables that imports left in the store and that belong to no version of an entity. */
export async function leftoversIn(dataFolder: string): Promise<string[]> {
  if ((await databaseOf(dataFolder)) === undefined) {
    const versions = readdirSync(join(dataFolder, 'entities'))
    const fields = join(dataFolder, 'fields')
    return [
      ...versions.filter(name => !/^[a-z]+(\.[0-9a-f]+){1,2}\.db$/.test(name)),
      ...(existsSync(fields) ? readdirSync(fields).filter(name => !versions.includes(`${name}.db`)) : []),
    ]
  }
  const left = await runSqlIn<{ name: string }>(
    dataFolder,
    `WITH known AS (
       SELECT version FROM carrel.entity WHERE version IS NOT NULL UNION SELECT version FROM carrel.retired
       UNION SELECT version FROM carrel.kept_version UNION SELECT version FROM carrel.held_version
     )
     SELECT tablename AS name FROM pg_tables WHERE schemaname = 'carrel' AND tablename LIKE 'records.%'
       AND tablename NOT IN (SELECT 'records.' || split_part(version, '.', 1) FROM known)
     UNION SELECT version FROM carrel.rank WHERE version NOT IN (SELECT version FROM known)`,
  )
  return left.map(({ name }) => name)
}

export const ndjson = (records: readonly object[]): string =>
  records.map(record => `${JSON.stringify(record)}\n`).join('')

/** Returns a CSV file with every cell in quotes. */
export function csvOf(records: readonly Record<string, unknown>[]): string {
  const cell = (value: unknown) => `"${String(value ?? '').replaceAll('"', '""')}"`
  const names = Object.keys(records[0] ?? {})
  return [names, ...records.map(record => names.map(name => record[name]))]
    .map(row => `${row.map(cell).join(',')}\r\n`)
    .join('')
}

/** Returns a line of NDJSON with this number of fields besides the key. */
export const wide = (count: number) =>
  `{"id":1,${Array.from({ length: count }, (_, at) => `"f${at}":${at}`).join(',')}}\n`

/**
 * @returns the path of a file of real data; undefined, with a note in the output, if the file is not there
 */
export function realData(t: TestContext, name: string): string | undefined {
  const path = join(repository, '../shared/data', name)
  if (existsSync(path)) return path
  t.diagnostic(`${path} is not there: generated records are used instead`)
  return undefined
}
