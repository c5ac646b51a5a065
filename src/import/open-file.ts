import { type BigIntStats, createReadStream, fstat, read as readDescriptor } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { addAbortSignal, type Readable } from 'node:stream'
import { promisify } from 'node:util'
import { ImportError } from './import-error.ts'
import { forget } from './spool.ts'

/** A file that the caller has opened and will close. */
export interface NamedDescriptor {
  /** A name for messages. Its extension may determine the format. */
  readonly name: string
  readonly descriptor: number
}

export interface OpenFile {
  readonly name: string
  /** The path; undefined if there is none that another file could take over. */
  readonly path?: string
  readonly handle: Reading
  close(): Promise<void>
}

/** The methods of a file handle that are needed for reading. */
export interface Reading extends Pick<FileHandle, 'read'> {
  stat(): Promise<BigIntStats>
}

interface Watched extends Pick<OpenFile, 'name' | 'path'> {
  readonly handle: Pick<Reading, 'stat'>
}

/** The file was changed or replaced while it was being read. */
export class FileChanged extends ImportError {}

/** @throws FileChanged if the file was changed, or another file has taken its name */
export async function refuseChanged({ name, path, handle }: Watched, before: BigIntStats): Promise<void> {
  const now = await handle.stat()
  const named = path === undefined ? undefined : await stat(path, { bigint: true }).catch(() => undefined)
  const isReplaced = named !== undefined && (named.ino !== before.ino || named.dev !== before.dev)
  if (isReplaced || now.size !== before.size || now.mtimeNs !== before.mtimeNs)
    throw new FileChanged(
      `${name} ${isReplaced ? 'was replaced' : 'changed'} while it was being read; repeat this when it is complete`,
    )
}

/** Returns a file that is read through its descriptor, at explicit positions. */
export function opened({ name, descriptor }: NamedDescriptor): OpenFile {
  const readAt = promisify(readDescriptor)
  const handle = {
    read: (buffer: Buffer, offset: number, length: number, position: number) =>
      readAt(descriptor, buffer, offset, length, position),
    stat: () =>
      new Promise<BigIntStats>((resolve, reject) =>
        fstat(descriptor, { bigint: true }, (error, stats) => (error ? reject(error) : resolve(stats))),
      ),
  } as unknown as Reading
  return { name, handle, close: async () => {} }
}

const readingOf = (handle: FileHandle): Reading => ({
  read: handle.read.bind(handle),
  stat: () => handle.stat({ bigint: true }),
})

/** @throws ImportError for a path at which nothing is that can be read */
export async function requireFile(path: string): Promise<{ isFile(): boolean }> {
  const found = await stat(path).catch(error => {
    throw cannotOpen(path, error)
  })
  if (found.isDirectory()) throw new ImportError(`${path} is a folder; give a file`)
  return found
}

export async function openInput(
  path: string,
  scratchFolder: string,
  signal: AbortSignal | undefined,
): Promise<OpenFile> {
  if (path === '-') return spool(process.stdin, 'standard input', scratchFolder, signal)
  const found = await requireFile(path)
  if (!found.isFile()) return spool(createReadStream(path), path, scratchFolder, signal)
  const handle = await openFile(path, 'r')
  return { name: basename(path), path, handle: readingOf(handle), close: () => handle.close() }
}

/**
 * Copies a pipe to a file, because it can be read only once. The file loses its name at once, and disappears
 * with the process, however that ends.
 */
async function spool(
  input: Readable,
  name: string,
  scratchFolder: string,
  signal: AbortSignal | undefined,
): Promise<OpenFile> {
  const file = join(scratchFolder, `import-${process.pid}.input`)
  const handle = await openFile(file, 'w+')
  forget(file)
  const close = async () => {
    await handle.close()
    forget(file)
  }
  try {
    await handle.writeFile(signal ? addAbortSignal(signal, input) : input)
    return { name, handle: readingOf(handle), close }
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

export const codeOf = (error: unknown): string =>
  error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? error.message) : String(error)
