import { readSync, statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { StoreUnavailable } from '../../lib/errors.ts'

export interface Loss {
  readonly file: 'database' | 'log' | 'index'
  readonly how: 'gone' | 'replaced' | 'truncated' | 'overwritten'
  readonly message: string
}

/** The files that the main thread has opened, for all threads of the process. */
export interface OpenedFiles {
  /** The path of the database. */
  readonly file: string
  /** The descriptor through which all threads read the index. */
  readonly index: number
  /** The descriptor of the database, which shows what other programs write over it. */
  readonly database: number
  /** The parts of the database that most changes write to. */
  readonly busy: readonly FilePart[]
  /** Device and inode of each file. */
  readonly ids: Readonly<Record<Loss['file'], string>>
}

/** A range of a file, in bytes. */
export interface FilePart {
  readonly from: number
  readonly length: number
}

/** The log and the index of a database lie beside it (https://sqlite.org/walformat.html). */
export const pathsOf = (file: string): Readonly<Record<Loss['file'], string>> => ({
  database: file,
  log: `${file}-wal`,
  index: `${file}-shm`,
})

/** Interval in ms between two looks. */
export const lookAgainAfter = 1_000

/** While other processes write, a look may fall between two of their steps, but not this many in a row. */
const maxLooks = 100

/**
 * Checks that the files of the store are still those that this process has opened. SQLite goes on with a file
 * that was removed or replaced, and what it acknowledges then is gone with the process (docs/decisions/0022).
 * Nothing here opens a file: closing it would take away the locks of SQLite (docs/decisions/0005).
 */
export function createFilesInPlace({ file, index, database, busy, ids }: OpenedFiles) {
  const paths = Object.entries(pathsOf(file)) as [Loss['file'], string][]
  /** Size of the database in bytes when all files were last in place. */
  let databaseSize = 0
  /** Loss by truncation or overwriting, which is permanent. */
  let damaged: Loss | undefined
  const isOverwritten = createOverwriteCheck(index, database, busy)
  let looked = Number.NEGATIVE_INFINITY
  let found: Loss | undefined

  function look(): Loss | undefined {
    if (damaged) return damaged
    for (let attempt = 1; ; attempt++) {
      const header = readHeader(index)
      const sizes = { database: 0, log: 0, index: 0 }
      for (const [name, path] of paths) {
        const now = statSync(path, { bigint: true, throwIfNoEntry: false })
        if (!now) return lossOf(name, path, 'gone')
        if (`${now.dev}:${now.ino}` !== ids[name]) return lossOf(name, path, 'replaced')
        sizes[name] = Number(now.size)
      }
      const short = shortFile(header, sizes, databaseSize)
      if (short === undefined) {
        databaseSize = sizes.database
        if (isOverwritten()) damaged = lossOf('database', file, 'overwritten')
        return damaged
      }
      if (attempt < maxLooks && !header.equals(readHeader(index))) continue
      damaged = lossOf(short, pathsOf(file)[short], 'truncated')
      return damaged
    }
  }
  function find(): Loss | undefined {
    looked = performance.now()
    found = look()
    return found
  }
  // The first look sets `databaseSize`.
  find()
  const refuse = (loss: Loss | undefined) => {
    if (loss) throw new StoreUnavailable(loss.message)
  }

  return {
    /** @returns what has happened to the first file that is not in its place */
    find,
    /** @throws StoreUnavailable saying which file is not in its place, and what to do */
    require: (): void => refuse(find()),
    /** Like `require`, but looks at most once a second. */
    requireLately: (): void => refuse(performance.now() - looked < lookAgainAfter ? found : find()),
  }
}

export type FilesInPlace = ReturnType<typeof createFilesInPlace>

/** Length in bytes of the first copy of the index's header (https://sqlite.org/walformat.html, section 2.1). */
export const headerLength = 48
/** Length in bytes of both copies and of the record of how far the log has been copied (section 2.2). */
const copiedLength = 132

/** @throws StoreUnavailable if SQLite has closed the index: its connections end when the store is damaged */
function readHeader(index: number, length = headerLength): Buffer {
  const header = Buffer.alloc(length)
  try {
    return header.subarray(0, readSync(index, header, 0, length, 0))
  } catch (cause) {
    throw new StoreUnavailable('the index of the store is closed: restart the service', { cause })
  }
}

/**
 * SQLite writes to the database only when it copies frames of the log into it, and its index counts those.
 * While the count stays, the parts that most changes write to must stay, too: an older store that was copied
 * over the file differs in them.
 * @returns a function that returns true if another program has written to the file since the last call
 */
function createOverwriteCheck(index: number, database: number, busy: readonly FilePart[]): () => boolean {
  let known = ''
  let content = Buffer.alloc(0)

  /** @returns the log's generation and the number of its frames that are in the database; undefined during a copy */
  function copied(): string | undefined {
    const header = readHeader(index, copiedLength)
    if (header.length < copiedLength) return undefined
    const frames = header.subarray(96, 100)
    // The second number is raised before anything is copied, the first one afterwards.
    if (!frames.equals(header.subarray(128, 132))) return undefined
    return header.toString('hex', 32, 40) + frames.toString('hex')
  }

  return () => {
    const before = copied()
    if (before === undefined) return false
    const found = Buffer.concat(
      busy.map(({ from, length }) => {
        const part = Buffer.alloc(length)
        return part.subarray(0, readSync(database, part, 0, length, from))
      }),
    )
    if (copied() !== before) return false
    const isOther = before === known && !found.equals(content)
    known = before
    content = found
    return isOther
  }
}

/**
 * The log has at least the frames that the index counts. The database may lack pages that are still in the
 * log, and VACUUM makes it smaller, but then the index says how many pages are left.
 * @param databaseSize the previous size of the database, in bytes
 * @returns the file that is smaller than SQLite expects
 */
function shortFile(
  header: Buffer,
  sizes: Readonly<Record<Loss['file'], number>>,
  databaseSize: number,
): Loss['file'] | undefined {
  if (header.length < headerLength) return 'index'
  // The index is in the byte order of the machine that wrote it, which is this one.
  const numbers = new DataView(header.buffer, header.byteOffset, headerLength)
  const [pageSize, frames, pages] = [14, 16, 20].map((at, n) =>
    n === 0 ? numbers.getUint16(at, isLittleEndian) : numbers.getUint32(at, isLittleEndian),
  ) as [number, number, number]
  // 1 stands for 65,536, which has no room in 16 bits.
  const page = pageSize === 1 ? 65_536 : pageSize
  if (frames > 0 && sizes.log < 32 + frames * (24 + page)) return 'log'
  return sizes.database < (pages === 0 ? databaseSize : Math.min(databaseSize, pages * page))
    ? 'database'
    : undefined
}

const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

const advice: Readonly<Record<Loss['how'], string>> = {
  gone: 'is gone: put this very file back, and the service goes on by itself; or restore a backup and restart the service',
  replaced:
    'is not the file that the service has opened: put that one back, and the service goes on by itself; or restart the service to use this one',
  truncated: 'was cut short: stop the service, restore a backup, and start it again',
  overwritten: 'was written over by another program: stop the service, restore a backup, and start it again',
}

const remake = 'was cut short: restart the service, which makes it again'

const lossOf = (file: Loss['file'], path: string, how: Loss['how']): Loss => ({
  file,
  how,
  message: `${basename(path)} in ${dirname(path)} ${file === 'index' && how === 'truncated' ? remake : advice[how]}`,
})
