import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFileStore } from '../files/file-store.ts'
import { claimFolder } from '../files/owner.ts'
import { makeTemporaryFolder } from '../lib/process-ids.ts'
import type { NewBitstream, NewItem } from '../model/items.ts'
import type { Readers } from '../model/readers.ts'
import type { Storage } from '../storage/storage.ts'
import { commandEvent } from './store.ts'

/** Transcriptions of some of the demo's letters, each with other readers. */
const plan: readonly (readonly [title: string, author: string, readers: Readers])[] = [
  ['Bertha to Eliot, Dublin, 1847', 'Bertha', [{ reader: 'anonymous' }]],
  ['Dürer to Câmara, Coimbra, 1802', 'Dürer', [{ reader: 'eperson' }]],
  ['Ibsen to Järvi, Örebro, 1869', 'Ibsen', [{ reader: 'group:Readers' }]],
  ['Kovač to Łoś, Kraków, 1911', 'Kovač', [{ reader: 'group:Curators' }]],
  [
    'Zoë to Frías, Basel, 1915',
    'Zoë',
    [{ reader: 'anonymous', from: `${new Date().getUTCFullYear() + 1}-01-01` }],
  ],
]

/** The index of the item whose file the printed example downloads. */
const example = 2

/** Adds the items. @returns the UUID of a file that the group Readers may read */
export async function addDemoItems({ repository }: Storage, filesFolder: string): Promise<string> {
  await claimFolder(filesFolder, repository)
  const store = createFileStore(filesFolder)
  const folder = makeTemporaryFolder('demo')
  try {
    const items: NewItem[] = []
    for (const [at, [title, author, readers]] of plan.entries()) {
      const path = join(folder, 'transcription.txt')
      writeFileSync(
        path,
        `${title}\n\nDear friend, this is the transcription of a letter that was never written.\n`,
      )
      const transcription: NewBitstream = {
        name: `${title}.txt`,
        bundle: 'ORIGINAL',
        description: 'Transcription',
        mimeType: 'text/plain',
        readers: null,
        ...(await store.keep(path)),
      }
      items.push({
        identifier: `demo/${at + 1}`,
        metadata: {
          'dc.title': [{ value: title, language: 'en' }],
          'dc.contributor.author': [{ value: author, language: null }],
          'dc.date.issued': [{ value: title.slice(-4), language: null }],
          'dc.type': [{ value: 'Letter', language: 'en' }],
        },
        collections: [],
        readers,
        bitstreams: [transcription],
        fingerprint: 'demo',
      })
    }
    await repository.putItems(items, commandEvent('item.add'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const item = await repository.uuidOf(`demo/${example + 1}`)
  const [file] = item === undefined ? [] : await repository.bitstreamsOf(item)
  if (!file) throw new Error('the item that was just added is missing')
  return file.uuid
}
