import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandEvent } from '../../../src/cli/store.ts'
import type { Files } from '../../../src/files/files.ts'
import { openFiles } from '../../../src/files/open-files.ts'
import type { Bitstream, Item, Metadata } from '../../../src/model/items.ts'
import type { Readers } from '../../../src/model/readers.ts'
import { scratch } from '../service/postgres-server.ts'
import type { Service } from '../service/service.ts'

export const everybody: Readers = [{ reader: 'anonymous' }]
export const anyEperson: Readers = [{ reader: 'eperson' }]
export const membersOf = (group: string): Readers => [{ reader: `group:${group}` }]

export const titled = (title: string): Metadata => ({ 'dc.title': [{ value: title, language: 'en' }] })

/** An item as tests describe it. Members that are left out have defaults. */
export interface SampleItem {
  readonly identifier: string
  readonly metadata?: Metadata
  readonly collections?: readonly string[]
  readonly readers?: Readers
  readonly files?: readonly PlannedFile[]
}

export interface PlannedFile {
  readonly name: string
  readonly content?: string | Uint8Array
  /** Path of a file with the content, if it is too large for memory. */
  readonly path?: string
  readonly mimeType?: string
  readonly readers?: Readers
  readonly bundle?: string
  readonly description?: string
}

type Place = Pick<Service, 'storage' | 'config'>

export interface StoredItem extends Item {
  readonly bitstreams: readonly Bitstream[]
  /** Bitstreams by name. */
  readonly files: ReadonlyMap<string, Bitstream>
}

/** Adds or changes an item. The contents of its files are kept as an ingest keeps them. */
export async function addItem(
  { storage: { repository }, config }: Place,
  { identifier, metadata, collections = [], readers = everybody, files = [] }: SampleItem,
): Promise<StoredItem> {
  const item = {
    identifier,
    metadata: metadata ?? titled(`Title of ${identifier}`),
    collections,
    readers,
    bitstreams: await keepFiles(await openFiles(config.files, repository), files),
    fingerprint: `${Math.random()}`,
  }
  await repository.putItems([item], commandEvent('item.add'), config.hiddenMetadata)
  const uuid = (await repository.uuidOf(identifier)) ?? ''
  const stored = await repository.item(uuid)
  if (!stored) throw new Error(`${identifier} is not in the store`)
  const bitstreams = await repository.bitstreamsOf(uuid)
  return { ...stored, bitstreams, files: new Map(bitstreams.map(one => [one.name, one])) }
}

async function keepFiles(store: Pick<Files, 'keep'>, files: readonly PlannedFile[]) {
  const folder = mkdtempSync(join(scratch, 'carrel-files-'))
  try {
    const bitstreams = []
    for (const { name, content = `content of ${name}`, ...file } of files) {
      const path = file.path ?? join(folder, 'content')
      if (file.path === undefined) writeFileSync(path, content)
      bitstreams.push({
        name,
        bundle: file.bundle ?? 'ORIGINAL',
        description: file.description ?? null,
        mimeType: file.mimeType ?? 'text/plain',
        readers: file.readers ?? null,
        ...(await store.keep(path)),
      })
    }
    return bitstreams
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Adds or changes an item, for tests that are about its files. */
export const putItem = (
  place: Place,
  identifier: string,
  readers: Readers,
  files: readonly PlannedFile[],
): Promise<StoredItem> => addItem(place, { identifier, readers, files })

/** Returns the path of a bitstream's content. */
export const contentOf = ({ uuid }: { readonly uuid: string }): string =>
  `/api/core/bitstreams/${uuid}/content`
