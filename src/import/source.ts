import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { Entity } from '../model/entities.ts'
import { decoded, type Encoding, utf16Of } from './encodings.ts'
import { ImportError } from './import-error.ts'
import {
  codeOf,
  FileChanged,
  type NamedDescriptor,
  type OpenFile,
  opened,
  openInput,
  type Reading,
  refuseChanged,
} from './open-file.ts'
import { lineAt, refuseBlank, refuseExpansion, refuseOtherKinds, tellingBytes } from './refused-input.ts'

export type Format = 'ndjson' | 'json' | 'csv'

/** The unpacked bytes of a file in UTF-8, which can be read more than once. */
export interface Source {
  readonly format: Format
  /** The encoding of the file itself. */
  readonly encoding: Encoding
  /**
   * Reads the bytes.
   * @param progress called with the share of the file that has been read, 0 to 1
   * @throws FileChanged after the last byte, if the file has changed
   */
  open(progress?: (share: number) => void): AsyncIterable<Buffer>
  /** @throws FileChanged if the file has changed since it was opened, so that its faults are meaningless */
  requireUnchanged(): Promise<void>
  close(): Promise<void>
}

/** A file that the caller has opened and will close. Its name may determine the format. */
export interface GivenFile extends NamedDescriptor {
  /** The format; undefined: its name and its first character determine it. */
  readonly format?: Format
}

/** @throws FileChanged instead of any fault, if the file has changed since it was opened */
export async function unlessChanged<T>(
  source: Pick<Source, 'requireUnchanged'>,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read()
  } catch (error) {
    await source.requireUnchanged()
    throw error
  }
}

/**
 * @param input an open file, the path of one, or `-` for standard input
 * @param signal stops waiting for an input that is still being written
 * @param encoding undefined: UTF-16 if its first bytes say so, otherwise UTF-8
 * @throws ImportError if it can't be read, or is not text
 */
export async function openSource(
  input: string | GivenFile,
  scratchFolder: string,
  signal: AbortSignal | undefined,
  encoding?: Encoding,
): Promise<Source> {
  const isGiven = typeof input !== 'string'
  const file = isGiven ? opened(input) : await openInput(input, scratchFolder, signal)
  const path = isGiven ? input.name : input
  try {
    const before = await file.handle.stat()
    const requireUnchanged = () => refuseChanged(file, before)
    const start = await firstBytes(read(file, 'utf-8', () => {}))
    refuseOtherKinds(file.name, start)
    const found = encodingOf(start, encoding)
    const open = async function* (progress: (share: number) => void = () => {}) {
      const share = (bytes: number) => progress(before.size === 0n ? 1 : bytes / Number(before.size))
      yield* read(file, found, share)
      await requireUnchanged()
    }
    return {
      format: (isGiven ? input.format : undefined) ?? formatOf(path, await firstCharacter(open())),
      encoding: found,
      open,
      requireUnchanged,
      close: file.close,
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

/** @throws ImportError for an encoding that contradicts the first bytes */
function encodingOf(start: Buffer, wanted: Encoding | undefined): Encoding {
  const marked = start.subarray(0, 3).toString() === '\ufeff' ? 'utf-8' : utf16Of(start)
  if (wanted !== undefined && marked !== undefined && wanted !== marked)
    throw new ImportError(
      `the file is ${marked}, as its first bytes show, and not ${wanted}; leave out --encoding`,
      { line: 1 },
    )
  return wanted ?? marked ?? 'utf-8'
}

/** Bytes per read. */
const chunkSize = 256 * 1024

/** @param seen called with the number of bytes read so far, before unpacking */
async function* read(
  file: OpenFile,
  encoding: Encoding,
  seen: (bytes: number) => void,
): AsyncIterable<Buffer> {
  const { name } = file
  const text = async (seen?: (bytes: number) => void) => {
    const bytes = await bytesOf(file, seen)
    return encoding === 'utf-8' ? bytes : decoded(bytes, encoding)
  }
  try {
    yield* refuseBlank(await text(seen), async offset => lineAt(await text(), offset))
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

/** Returns the unpacked bytes. */
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
      // The generator resumes when this chunk has been consumed.
      seen(at)
    }
  }
  return (await isGzip(handle)) ? refuseExpansion(name, unpacked(chunks()), () => at) : chunks()
}

async function* unpacked(chunks: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  // The last stream emits the errors of all of them, so the callback is empty.
  const output = pipeline(Readable.from(chunks), createGunzip({ chunkSize }), () => {})
  try {
    yield* output as AsyncIterable<Buffer>
  } finally {
    output.destroy()
  }
}

/** True for a gzip file: each begins with these two bytes (RFC 1952 §2.3.1). */
async function isGzip(handle: Reading): Promise<boolean> {
  const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0)
  return buffer[0] === 0x1f && buffer[1] === 0x8b
}

/** Reads as many of the first bytes of a file as are needed to recognize its format. */
async function firstBytes(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  let start: Buffer = Buffer.alloc(0)
  for await (const chunk of chunks) {
    start = Buffer.concat([start, chunk.subarray(0, tellingBytes)])
    if (start.length >= tellingBytes) break
  }
  return start
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

/**
 * Determines the format. The extension decides for CSV; otherwise the first character
 * decides, and then the extension.
 */
function formatOf(path: string, start: string): Format {
  if (/\.(csv|tsv|tab)(\.gz)?$/i.test(path)) return 'csv'
  if (start === '[') return 'json'
  if (start === '{' || /\.(nd)?json(l)?(\.gz)?$|\.jsonl(\.gz)?$/i.test(path)) return 'ndjson'
  return 'csv'
}

/** Files that are one object with the records as a list in it, as many services answer. */

/** Thrown for a file that is one object with the records in it. */
export class WrappedRecords extends ImportError {}

/**
 * Runs a function that reads the records of a file.
 * @throws WrappedRecords instead of an error that is due to one object around the records
 */
export async function unlessWrapped<T>(
  source: Source,
  key: Entity['key'],
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof ImportError) || error instanceof FileChanged) throw error
    await refuseWrapped(source, key)
    throw error
  }
}

/** @throws WrappedRecords if the file is one object around the records */
export async function refuseWrapped(source: Source, key: Entity['key']): Promise<void> {
  if (source.format !== 'ndjson') return
  const member = memberOfRecords(await beginningOf(source), [key].flat())
  if (member === undefined) return
  const name = JSON.stringify(member)
  throw new WrappedRecords(
    `the file is one object, and its member ${name} has the records; import that list alone: jq ${quoted(`.[${name}]`)} file.json > records.json`,
    { line: 1 },
  )
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

/** Maximum bytes of the file that are examined. */
const most = 64 * 1024
/** Maximum characters of a name that is shown in a command. */
const maxName = 60

async function beginningOf(source: Source): Promise<string> {
  for await (const chunk of source.open()) return chunk.toString('utf8', 0, most)
  return ''
}

/**
 * @returns the first member that is a list of objects; undefined if the object may itself be a
 * record, or others follow it
 */
function memberOfRecords(text: string, key: readonly string[]): string | undefined {
  const parts = /"((?:[^"\\]|\\.)*)"|[[\]{}]/gs
  let depth = 0
  let member: string | undefined
  for (const { 0: part, 1: name, index } of text.matchAll(parts)) {
    if (name !== undefined) {
      const after = text.slice(index + part.length, index + part.length + 1_000)
      if (depth !== 1 || !/^\s*:/.test(after)) continue
      if (key.includes(name)) return undefined
      if (/^\s*:\s*\[\s*\{/.test(after) && name.length <= maxName) member ??= name
    } else if (part === '{' || part === '[') depth++
    else if (--depth === 0) return text.slice(index + 1).trim() === '' ? member : undefined
  }
  return member
}
