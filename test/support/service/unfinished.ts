import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFileStore } from '../../../src/files/file-store.ts'
import { makeTemporaryFolder } from '../../../src/lib/process-ids.ts'
import { writeRecordFile } from '../../../src/storage/sqlite/record-versions.ts'

/**
 * A program that begins to write and never finishes: a content, the records of an entity, and a temporary
 * folder. Its arguments are the data folder and the folder of files.
 */
const [dataFolder = '', filesFolder = ''] = process.argv.slice(2)

async function* endless<T>(first: T): AsyncGenerator<T> {
  yield first
  await new Promise(resolve => setTimeout(resolve, 3_600_000))
}

writeFileSync(join(makeTemporaryFolder('backup'), 'carrel.db'), 'secrets')
void createFileStore(filesFolder).receive(endless(Buffer.alloc(1_000)))
void writeRecordFile(
  join(dataFolder, 'entities', `artworks.${'a1'.repeat(8)}.db`),
  { fields: [], ranks: () => new Uint32Array() },
  endless(['{"id":"A1"}']),
)
