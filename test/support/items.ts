import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { commandEvent } from '../../src/cli/store.ts'
import { createFileStore } from '../../src/files/file-store.ts'
import type { Readers } from '../../src/storage/audiences.ts'
import type { Bitstream, Item, Metadata } from '../../src/storage/repository.ts'
import type { Service } from './service.ts'

/** An item as tests describe it; what is not said is nothing special. */
export interface SampleItem {
  readonly identifier: string
  readonly metadata?: Metadata
  readonly collections?: readonly string[]
  readonly readers?: Readers
  readonly files?: readonly SampleFile[]
}

export interface SampleFile {
  readonly name: string
  readonly bundle?: string
  readonly description?: string
  readonly mimeType?: string
  readonly readers?: Readers
  readonly content?: string
}

export const everybody: Readers = [{ reader: 'anonymous' }]
export const onlyGroup = (name: string): Readers => [{ reader: `group:${name}` }]

/** Days from today (UTC), as rules of readers have them. */
export const day = (fromToday: number): string =>
  new Date(Date.now() + fromToday * 86_400_000).toISOString().slice(0, 10)

export const titled = (title: string): Metadata => ({ 'dc.title': [{ value: title, language: 'en' }] })

export interface StoredItem extends Item {
  /** By name. */
  readonly files: ReadonlyMap<string, Bitstream>
}

/** Puts an item and the content of its files into the store. */
export async function addItem(service: Service, sample: SampleItem): Promise<StoredItem> {
  const { repository } = service.storage
  const files = createFileStore(service.config.filesFolder)
  const bitstreams = []
  for (const { name, content = `content of ${name}`, ...file } of sample.files ?? []) {
    const path = join(service.dataFolder, 'to-be-kept')
    writeFileSync(path, content)
    bitstreams.push({
      name,
      bundle: file.bundle ?? 'ORIGINAL',
      description: file.description ?? null,
      mimeType: file.mimeType ?? 'text/plain',
      readers: file.readers ?? null,
      ...(await files.keep(path)),
    })
  }
  const { identifier } = sample
  await repository.putItems(
    [
      {
        identifier,
        metadata: sample.metadata ?? titled(`Title of ${identifier}`),
        collections: sample.collections ?? [],
        readers: sample.readers ?? everybody,
        bitstreams,
        fingerprint: JSON.stringify(sample),
      },
    ],
    commandEvent('item.add'),
  )
  const item = await repository.item(await uuidOf(service, identifier))
  if (!item) throw new Error(`${identifier} is not in the store`)
  const stored = await repository.bitstreamsOf(item.uuid)
  return { ...item, files: new Map(stored.map(one => [one.name, one])) }
}

/** The uuid that the store has given an item. */
async function uuidOf({ storage }: Service, identifier: string): Promise<string> {
  const entity = (await storage.entities.all()).get('items')
  if (!entity) throw new Error('there is no entity of items')
  const { body } = await storage.entities.list(
    entity,
    { order: [], offset: 0, limit: null, total: false },
    { kind: 'administrator' },
    'json',
    () => new AbortController().signal,
  )
  const pieces: Uint8Array[] = []
  if (body instanceof Uint8Array) pieces.push(body)
  else for await (const piece of body) pieces.push(piece)
  const rows = JSON.parse(`[${Buffer.concat(pieces)}]`) as { uuid: string; identifier: string }[]
  const found = rows.find(row => row.identifier === identifier)
  if (!found) throw new Error(`${identifier} is not in the store`)
  return found.uuid
}
