import { toConfig } from '../../../src/config/config.ts'
import { noStore } from '../../../src/files/files.ts'
import { openFiles } from '../../../src/files/open-files.ts'

const megabytes = Number(process.argv[2])
/** The same memory for each piece, as that of a body is. */
const piece = Buffer.alloc(1_000_000)

/** A program that uploads to the bucket of its settings, sends this number of megabytes, and never ends. */
async function* endless(): AsyncGenerator<Buffer> {
  for (let sent = 0; sent < megabytes; sent++) {
    piece.writeUInt32BE(sent)
    yield piece
  }
  await new Promise(resolve => setTimeout(resolve, 3_600_000))
}

const files = await openFiles(toConfig(process.env).files, noStore)
void files.receive(endless())
