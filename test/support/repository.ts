import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandEvent } from '../../src/cli/store.ts'
import { createFileStore } from '../../src/files/file-store.ts'
import type { Readers } from '../../src/storage/audiences.ts'
import type { Bitstream, Item } from '../../src/storage/repository.ts'
import { scratch } from './postgres-server.ts'
import type { Service } from './service.ts'

export const everybody: Readers = [{ reader: 'anonymous' }]
export const anyEperson: Readers = [{ reader: 'eperson' }]
export const membersOf = (group: string): Readers => [{ reader: `group:${group}` }]

export interface PlannedFile {
  readonly name: string
  readonly content: string | Uint8Array
  readonly mimeType?: string
  readonly readers?: Readers
  readonly bundle?: string
  readonly description?: string
}

/** Adds an item, or changes it, with the contents of its files kept as an ingest keeps them. */
export async function putItem(
  { storage, config }: Pick<Service, 'storage' | 'config'>,
  identifier: string,
  readers: Readers,
  files: readonly PlannedFile[] = [],
  title = `The item ${identifier}`,
): Promise<{ readonly item: Item; readonly bitstreams: readonly Bitstream[] }> {
  const folder = mkdtempSync(join(scratch, 'carrel-files-'))
  try {
    const store = createFileStore(config.filesFolder)
    const bitstreams = []
    for (const { name, content, mimeType, readers: own, bundle, description } of files) {
      const path = join(folder, 'content')
      writeFileSync(path, content)
      bitstreams.push({
        name,
        bundle: bundle ?? 'ORIGINAL',
        description: description ?? null,
        mimeType: mimeType ?? 'text/plain',
        readers: own ?? null,
        ...(await store.keep(path)),
      })
    }
    const item = {
      identifier,
      metadata: { 'dc.title': [{ value: title, language: 'en' }] },
      collections: [],
      readers,
      bitstreams,
      fingerprint: `${Math.random()}`,
    }
    await storage.repository.putItems([item], commandEvent('item.add'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const uuid = (await storage.repository.uuidOf(identifier)) ?? ''
  const item = await storage.repository.item(uuid)
  if (!item) throw new Error('the item that was just put is not there')
  return { item, bitstreams: await storage.repository.bitstreamsOf(uuid) }
}

/** Where a bitstream's content is. */
export const contentOf = ({ uuid }: { readonly uuid: string }): string =>
  `/api/core/bitstreams/${uuid}/content`
