import { closeSync, createReadStream, createWriteStream, openSync, readSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream'
import { pipeline as pipelined } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'

/** A problem with what is imported; the message names the line and what would be right. */
export class ImportError extends Error {}

export type Format = 'ndjson' | 'json' | 'csv'

/** Bytes to import, unpacked, that can be read more than once. */
export interface Source {
  readonly format: Format
  open(): AsyncIterable<Buffer>
  close(): void
}

/** @param progress called with the share of the file that was read, 0 to 1; not called where the size isn't known */
export async function openSource(
  path: string,
  scratchFolder: string,
  progress: (share: number) => void,
): Promise<Source> {
  // Standard input can be read once; what is read twice waits in a file.
  const spool = path === '-' ? join(scratchFolder, `import-${process.pid}.input`) : null
  if (spool) await pipelined(process.stdin, createWriteStream(spool, { mode: 0o600 }))
  const file = spool ?? path
  const size = fileSize(file, path)
  const start = await firstBytes(read(file, () => {}))
  return {
    format: formatOf(path, start),
    open: () => read(file, bytes => progress(size === 0 ? 1 : bytes / size)),
    close: () => {
      if (spool) rmSync(spool, { force: true })
    },
  }
}

function fileSize(file: string, path: string): number {
  const found = statSync(file, { throwIfNoEntry: false })
  if (!found) throw new ImportError(`there is no file ${path}`)
  if (found.isDirectory()) throw new ImportError(`${path} is a folder; give a file`)
  return found.size
}

/** @param seen called with how many bytes of the file were read, before unpacking */
async function* read(file: string, seen: (bytes: number) => void): AsyncIterable<Buffer> {
  const input = createReadStream(file, { highWaterMark: 256 * 1024 })
  // What goes wrong on the way comes out of the last stream; the callback has nothing left to do.
  const output = isGzip(file) ? pipeline(input, createGunzip(), () => {}) : input
  try {
    for await (const chunk of output as AsyncIterable<Buffer>) {
      seen(input.bytesRead)
      yield chunk
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('Z_'))
      throw new ImportError(`${basename(file)} is damaged: it can't be unpacked (${error.message})`, {
        cause: error,
      })
    throw error
  } finally {
    output.destroy()
    input.destroy()
  }
}

/** RFC 1952 §2.3.1: the two bytes that every gzip file begins with. */
function isGzip(file: string): boolean {
  const handle = openSync(file, 'r')
  try {
    const start = Buffer.alloc(2)
    readSync(handle, start)
    return start[0] === 0x1f && start[1] === 0x8b
  } finally {
    closeSync(handle)
  }
}

async function firstBytes(chunks: AsyncIterable<Buffer>): Promise<string> {
  for await (const chunk of chunks) {
    const text = chunk
      .toString('latin1')
      .replace(/^\xef\xbb\xbf/, '')
      .trimStart()
    if (text !== '') return text.slice(0, 1)
  }
  return ''
}

/** The name says whether it is CSV; between the kinds of JSON, and without a telling name, the first character does. */
function formatOf(path: string, start: string): Format {
  if (/\.csv(\.gz)?$/i.test(path)) return 'csv'
  if (start === '[') return 'json'
  if (start === '{' || /\.(nd)?json(l)?(\.gz)?$|\.jsonl(\.gz)?$/i.test(path)) return 'ndjson'
  return 'csv'
}
