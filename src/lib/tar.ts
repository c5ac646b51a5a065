import { PassThrough, pipeline, Readable, Transform, type Writable } from 'node:stream'
import { pipeline as finished } from 'node:stream/promises'
import { extract, pack } from 'tar-stream'

/** An entry of a tar archive. Only this file uses the library for tar. */
export interface TarEntry {
  /** The path, with U+FFFD in place of bytes that aren't UTF-8. */
  readonly name: string
  readonly kind: 'file' | 'folder' | 'other'
  /** Size in bytes. */
  readonly size: number
  readonly changed: Date
  /** The content of a file, which can be read once. */
  content(): AsyncIterable<Buffer>
  /** Skips an entry that is not a file or not wanted. */
  skip(): void
}

export interface TarSource {
  /** The archive. If `unpack` is given, it decompresses the archive first. */
  readonly input: Readable
  readonly unpack?: Transform
  /**
   * True to refuse an archive that ends between two files without the end marker, which most programs accept.
   */
  readonly whole: boolean
  /**
   * Makes the error for an archive that can't be read. Errors of disks, signals and `zlib`
   * are passed on unchanged.
   */
  readonly broken: (why: string, cause?: Error) => Error
}

/** Maximum number of bytes without file content, because the library holds names and attributes in memory. */
const maxBetween = 2 * 1024 * 1024
/** Number of zero bytes that end an archive. */
const endLength = 1024

/** Reads an archive of any length entry by entry, in constant memory. */
export async function* readTar({ input, unpack, whole, broken }: TarSource): AsyncIterable<TarEntry> {
  let between = 0
  let last = Buffer.alloc(0)
  const watch = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      between += chunk.length
      last = Buffer.from(
        (chunk.length < endLength ? Buffer.concat([last, chunk]) : chunk).subarray(-endLength),
      )
      if (between > maxBetween) done(broken('it has too much between its files'))
      else done(null, chunk)
    },
    flush(done) {
      const ended = last.length === endLength && last.every(byte => byte === 0)
      done(whole && !ended ? broken('it ends early') : null)
    },
  })
  const entries = extract()
  let fault: unknown
  const asBroken = (error: unknown) => {
    const first = fault ?? error
    const isOfLibrary =
      first instanceof Error && first.constructor === Error && !('syscall' in first) && !('code' in first)
    return isOfLibrary ? broken(first.message, first) : first
  }
  pipeline(input, unpack ?? new PassThrough(), watch, entries, error => {
    fault = error
  })
  async function* content(entry: AsyncIterable<Buffer>) {
    try {
      yield* entry
    } catch (error) {
      throw asBroken(error)
    }
  }
  try {
    for await (const entry of entries) {
      between = 0
      const { name, type, mtime, size = 0 } = entry.header
      entry.on('data', () => {
        between = 0
      })
      entry.pause()
      yield {
        name,
        size,
        kind:
          type === 'file' || type === 'contiguous-file' ? 'file' : type === 'directory' ? 'folder' : 'other',
        changed: mtime ?? new Date(0),
        content: () => content(entry as AsyncIterable<Buffer>),
        skip: () => entry.resume(),
      }
      between = 0
    }
  } catch (error) {
    throw asBroken(error)
  }
}

export interface TarWriter {
  /** Adds a file of `size` bytes. Calls wait for each other. */
  add(name: string, size: number, content: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<void>
  /** Completes the archive and leaves the stream open. */
  end(): Promise<void>
}

export function createTar(out: Writable): TarWriter {
  const entries = pack()
  const sent = finished(Readable.from(entries), out, { end: false })
  // The error is handled elsewhere: `end` rejects with it, and so does an `add` that is under way.
  sent.catch(() => {})
  return {
    add: (name, size, content) =>
      finished(exactly(name, size, content), entries.entry({ name, size, mode: 0o600 })),
    end: () => {
      entries.finalize()
      return sent
    },
  }
}

async function* exactly(name: string, size: number, content: AsyncIterable<Buffer> | Iterable<Buffer>) {
  let left = size
  for await (const chunk of content) {
    left -= chunk.length
    if (left < 0) break
    yield chunk
  }
  if (left !== 0) throw new Error(`${name} changed while it was being read`)
}
