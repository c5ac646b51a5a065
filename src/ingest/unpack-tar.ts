import { createReadStream } from 'node:fs'
import { PassThrough, pipeline, Transform } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { extract } from 'tar-stream'
import { BrokenArchive, isGzipped, type Packed } from './packed.ts'
import { visible } from './similar-name.ts'

/** So much of an archive may pass without a file: names and attributes are held in memory by the library. */
const maxBetween = 2 * 1024 * 1024

/** The only file that uses the library of tar. */
export async function* readTar(path: string, signal: AbortSignal): AsyncIterable<Packed> {
  let between = 0
  const watch = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      between += chunk.length
      if (between > maxBetween) done(new BrokenArchive('it has too much between its files'))
      else done(null, chunk)
    },
  })
  const entries = extract()
  const isZipped = await isGzipped(path)
  let fault: unknown
  pipeline(
    createReadStream(path, { signal }),
    isZipped ? createGunzip() : new PassThrough(),
    watch,
    entries,
    error => {
      fault = error
    },
  )
  try {
    for await (const entry of entries) {
      between = 0
      const { name, type, mtime, size = 0 } = entry.header
      entry.on('data', () => {
        between = 0
      })
      entry.pause()
      yield {
        // The library reads names as UTF-8, and puts this character where they are not.
        name: name.includes('\ufffd') ? null : name,
        shown: visible(name),
        size,
        kind:
          type === 'file' || type === 'contiguous-file' ? 'file' : type === 'directory' ? 'folder' : 'other',
        changed: mtime ?? new Date(0),
        content: () => entry as AsyncIterable<Buffer>,
        skip: () => entry.resume(),
      }
      between = 0
    }
  } catch (error) {
    throw brokenBy(fault ?? error)
  }
}

/** What the library throws is about the archive; the disk and `zlib` have errors of their own. */
function brokenBy(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof BrokenArchive) return error
  const { code } = error as NodeJS.ErrnoException
  if ('syscall' in error || code?.startsWith('Z_') === true) return error
  return new BrokenArchive(error.message, { cause: error })
}
