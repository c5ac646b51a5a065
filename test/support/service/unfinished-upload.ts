import { randomBytes } from 'node:crypto'
import { toConfig } from '../../../src/config/config.ts'
import { noStore } from '../../../src/files/files.ts'
import { openFiles } from '../../../src/files/open-files.ts'

/** A program that uploads to the bucket of its settings, sends some parts, and never ends. */
async function* endless(): AsyncGenerator<Buffer> {
  for (let sent = 0; sent < 12; sent++) yield randomBytes(1_000_000)
  await new Promise(resolve => setTimeout(resolve, 3_600_000))
}

const files = await openFiles(toConfig(process.env).files, noStore)
void files.receive(endless())
