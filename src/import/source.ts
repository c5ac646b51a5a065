import { createReadStream, fstat, read as readDescriptor, rmSync } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { addAbortSignal, pipeline, Readable } from 'node:stream'
import { promisify } from 'node:util'
import { createGunzip } from 'node:zlib'
import { lineAt, refuseBlank, refuseExpansion } from './bounded-input.ts'
import { ImportError } from './import-error.ts'

export type Format = 'ndjson' | 'json' | 'csv'

/** The unpacked bytes of a file. They can be read more than once. */
export interface Source {
  readonly format: Format
  /** @param progress called with the share of the file that has been read, 0 to 1 */
  open(progress?: (share: number) => void): AsyncIterable<Buffer>
  close(): Promise<void>
}

/** A file that somebody has opened and closes. */
export interface GivenFile {
  /** For messages; its ending may tell the format. */
  readonly name: string
  readonly descriptor: number
  /** undefined: as its name and its first character tell. */
  readonly format?: Format
}

/** An open file: even if another file takes its name, the same bytes are read each time. */
interface OpenFile {
  readonly name: string
  readonly handle: Reading
  close(): Promise<void>
}

/** What is needed of a file to read it. */
type Reading = Pick<FileHandle, 'read' | 'stat'>

/**
 * @param input an open file, the path of one, or `-` for standard input
 * @param signal stops waiting for an input that is still being written
 * @throws ImportError if it can't be read
 */
export async function openSource(
  input: string | GivenFile,
  scratchFolder: string,
  signal: AbortSignal | undefined,
): Promise<Source> {
  const isGiven = typeof input !== 'string'
  const file = isGiven ? opened(input) : await openInput(input, scratchFolder, signal)
  const path = isGiven ? input.name : input
  try {
    const { size } = await file.handle.stat()
    return {
      format:
        (isGiven ? input.format : undefined) ?? formatOf(path, await firstCharacter(read(file, () => {}))),
      open: (progress = () => {}) => read(file, bytes => progress(size === 0 ? 1 : bytes / size)),
      close: file.close,
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Read by its descriptor, at positions of its own. */
function opened({ name, descriptor }: GivenFile): OpenFile {
  const readAt = promisify(readDescriptor)
  const handle = {
    read: (buffer: Buffer, offset: number, length: number, position: number) =>
      readAt(descriptor, buffer, offset, length, position),
    stat: () => promisify(fstat)(descriptor),
  } as unknown as Reading
  return { name, handle, close: async () => {} }
}

async function openInput(
  path: string,
  scratchFolder: string,
  signal: AbortSignal | undefined,
): Promise<OpenFile> {
  if (path === '-') return spool(process.stdin, 'standard input', scratchFolder, signal)
  const found = await stat(path).catch(error => {
    throw cannotOpen(path, error)
  })
  if (found.isDirectory()) throw new ImportError(`${path} is a folder; give a file`)
  if (!found.isFile()) return spool(createReadStream(path), path, scratchFolder, signal)
  const handle = await openFile(path, 'r')
  return { name: basename(path), handle, close: () => handle.close() }
}

/**
 * A pipe can be read only once, so its content is kept in a file. The file loses its name at once and disappears with the
 * process, however that ends.
 */
async function spool(
  input: Readable,
  name: string,
  scratchFolder: string,
  signal: AbortSignal | undefined,
): Promise<OpenFile> {
  const file = join(scratchFolder, `import-${process.pid}.input`)
  const handle = await openFile(file, 'w+')
  const forget = () => {
    // Some systems can't remove an open file; there it is removed after it is closed.
    try {
      rmSync(file, { force: true })
    } catch {}
  }
  forget()
  const close = async () => {
    await handle.close()
    forget()
  }
  try {
    await handle.writeFile(signal ? addAbortSignal(signal, input) : input)
    return { name, handle, close }
  } catch (error) {
    await close()
    signal?.throwIfAborted()
    throw new ImportError(`${name} can't be kept in ${scratchFolder} until it is read (${codeOf(error)})`, {
      cause: error,
    })
  }
}

async function openFile(path: string, flags: 'r' | 'w+'): Promise<FileHandle> {
  try {
    return await open(path, flags, 0o600)
  } catch (error) {
    throw cannotOpen(path, error)
  }
}

const cannotOpen = (path: string, cause: unknown): ImportError =>
  new ImportError(
    codeOf(cause) === 'ENOENT' ? `there is no file ${path}` : `${path} can't be opened (${codeOf(cause)})`,
    { cause },
  )

const codeOf = (error: unknown): string =>
  error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error)

/** Bytes per read. */
const chunkSize = 256 * 1024

/** @param seen called with the number of bytes read so far, before unpacking */
async function* read(file: OpenFile, seen: (bytes: number) => void): AsyncIterable<Buffer> {
  const { name } = file
  try {
    yield* refuseBlank(await bytesOf(file, seen), async offset => lineAt(await bytesOf(file), offset))
  } catch (error) {
    const code = codeOf(error)
    if (error instanceof ImportError || !/^[EZ]/.test(code)) throw error
    throw new ImportError(
      code.startsWith('Z_')
        ? `${name} is damaged: it can't be unpacked (${error instanceof Error ? error.message : code})`
        : `${name} can't be read (${code})`,
      { cause: error },
    )
  }
}

/** The unpacked bytes. */
async function bytesOf(
  { name, handle }: OpenFile,
  seen: (bytes: number) => void = () => {},
): Promise<AsyncIterable<Buffer>> {
  let at = 0
  async function* chunks() {
    for (;;) {
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(chunkSize), 0, chunkSize, at)
      if (bytesRead === 0) return
      at += bytesRead
      yield buffer.subarray(0, bytesRead)
      // The generator resumes when this chunk has been taken.
      seen(at)
    }
  }
  return (await isGzip(handle)) ? refuseExpansion(name, unpacked(chunks()), () => at) : chunks()
}

async function* unpacked(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  // The last stream emits the errors of all; the callback has nothing to do.
  const output = pipeline(Readable.from(chunks), createGunzip({ chunkSize }), () => {})
  try {
    yield* output as AsyncIterable<Buffer>
  } finally {
    output.destroy()
  }
}

/** Every gzip file begins with these two bytes (RFC 1952 §2.3.1). */
async function isGzip(handle: Reading): Promise<boolean> {
  const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0)
  return buffer[0] === 0x1f && buffer[1] === 0x8b
}

async function firstCharacter(chunks: AsyncIterable<Buffer>): Promise<string> {
  for await (const chunk of chunks) {
    const text = chunk
      .toString('latin1')
      .replace(/^\xef\xbb\xbf/, '')
      .trimStart()
    if (text !== '') return text.slice(0, 1)
  }
  return ''
}

/** The ending of the name decides for CSV. Otherwise the first character decides, and then the ending. */
function formatOf(path: string, start: string): Format {
  if (/\.csv(\.gz)?$/i.test(path)) return 'csv'
  if (start === '[') return 'json'
  if (start === '{' || /\.(nd)?json(l)?(\.gz)?$|\.jsonl(\.gz)?$/i.test(path)) return 'ndjson'
  return 'csv'
}
