import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { IngestReport } from '../../../src/items/ingest/ingest.ts'
import type { Bitstream, Item } from '../../../src/model/items.ts'
import { list } from '../clients/listings.ts'
import { carrel, type Finished } from '../service/process.ts'
import type { Service } from '../service/service.ts'

/** Contents of files by path. Folders are created as needed. */
export type Files = Readonly<Record<string, string | Uint8Array>>

export function writeFiles(folder: string, files: Files): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}

/**
 * Returns a `dublin_core.xml` with these values, each under a key such as `title` or `contributor.author`.
 */
export const dublinCore = (values: Readonly<Record<string, string>>, schema = 'dc'): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<dublin_core schema="${schema}">\n${Object.entries(values)
    .map(([key, value]) => {
      const [element, qualifier = 'none'] = key.split('.')
      return `  <dcvalue element="${element}" qualifier="${qualifier}">${value}</dcvalue>\n`
    })
    .join('')}</dublin_core>\n`

/** Writes item folders with a title and three small files each. */
export function writeLetters(folder: string, count: number, text = (at: number) => `letter ${at}`): string {
  for (let at = 0; at < count; at++)
    writeFiles(join(folder, `letter-${String(at).padStart(4, '0')}`), {
      'dublin_core.xml': dublinCore({ title: `Letter ${at}` }),
      contents: 'scan.txt\nnotes.txt\tbundle:TEXT\nlicense.txt\n',
      'scan.txt': `${text(at)}, scanned`,
      'notes.txt': `${text(at)}, read`,
      'license.txt': 'The same for all.',
    })
  return folder
}

/** Runs `carrel ingest --json`. `stderr` is returned without the progress. */
export async function ingest(
  dataFolder: string,
  folder: string,
  ...args: string[]
): Promise<IngestReport & Pick<Finished, 'code' | 'stderr'>> {
  const { code, stdout, stderr } = await carrel(dataFolder, ['ingest', folder, '--json', ...args])
  assert.match(stdout, /^\{/, stderr)
  return { ...(JSON.parse(stdout) as IngestReport), code, stderr: withoutBar(stderr) }
}

/** Removes the progress, which is shown if the machine is slow. */
export const withoutBar = (stderr: string): string => stderr.replace(/^\w+ \[[=-]+\] .*\n/gm, '')

export interface Counts {
  readonly added?: number
  readonly changed?: number
  readonly unchanged?: number
  readonly failed?: number
}

export function assertCounts(report: IngestReport, expected: Counts): void {
  const { added, changed, unchanged, failed } = report
  const none = { added: 0, changed: 0, unchanged: 0, failed: 0 }
  assert.deepEqual(
    { added, changed, unchanged, failed },
    { ...none, ...expected },
    JSON.stringify(report.failures),
  )
}

export interface Held extends Item {
  readonly bitstreams: readonly Bitstream[]
}

/** Returns all items with their bitstreams, by identifier, as an administrator sees them. */
export async function itemsIn(service: Service): Promise<ReadonlyMap<string, Held>> {
  const client = service.client()
  const admin = 'admin-of-items@example.org'
  if (!(await service.storage.people.credentials(admin))) await service.addEperson(admin, { admin: true })
  await client.login(admin)
  const rows = await list<{ uuid: string }>(client, 'items')
  const items = await Promise.all(
    rows.map(async ({ uuid }) => {
      const item = await service.storage.repository.item(uuid)
      assert.ok(item)
      return { ...item, bitstreams: await service.storage.repository.bitstreamsOf(uuid) }
    }),
  )
  return new Map(items.map(item => [item.identifier, item]))
}

/** Returns the paths in the folder of files, without the owner file `store`. */
export const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .filter(path => path !== 'store')
    .sort()
