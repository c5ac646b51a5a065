import type { BigIntStats } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { csvRows } from '../../import/csv-rows.ts'
import { lineBreaksIn, type Row } from '../../import/csv-text.ts'
import type { Delimiter } from '../../import/delimiters.ts'
import { decoded, utf16Of } from '../../import/encodings.ts'
import { guessDelimiter } from '../../import/guess-delimiter.ts'
import { ImportError } from '../../import/import-error.ts'
import { refuseChanged } from '../../import/open-file.ts'
import { type Candidate, type Candidates, itemsAtOnce, type SourceOptions } from './candidates.ts'
import { BadItem, type FoundItem, toItem } from './item.ts'
import { bundleOf, createMetadata, isKey } from './item-folder.ts'
import { findFiles, openListed } from './read-file.ts'
import { parseReaders } from './readers.ts'

export const manifestName = 'manifest.csv'

const ownColumns = ['identifier', 'files', 'readers', 'collections'] as const

type Column =
  | { readonly kind: (typeof ownColumns)[number] }
  | { readonly kind: 'metadata'; readonly key: string; readonly language: string | null }

/**
 * Opens a folder with `manifest.csv`, which has one item per row.
 * @param folder path without links
 * @throws ImportError for an unknown column, and for a manifest outside the folder
 */
export async function openManifest(folder: string, options: SourceOptions): Promise<Candidates> {
  const file = await openListed(folder, manifestName).catch(error => {
    throw error instanceof BadItem ? new ImportError(error.message, { cause: error }) : error
  })
  const before = await file.stat({ bigint: true })
  const lines = await countLines(file)
  const { encoding, delimiter } = await formOf(file)
  const input = file.createReadStream({ start: 0, autoClose: false })
  const text = encoding === undefined ? input : decoded(input, encoding)
  const rows = flatten(csvRows(text, { delimiter, lenient: true, isUtf8: true }))
  const close = async () => {
    input.destroy()
    await file.close()
  }
  try {
    const header = await rows.next()
    if (header.done) throw new ImportError('it is empty; its first line names the columns')
    const columns = readHeader(header.value)
    return checkEach(readItems(folder, columns, rows, lines, options), file, { folder, before, close })
  } catch (error) {
    await close()
    throw error instanceof ImportError ? new ImportError(`${manifestName}: ${error.message}`) : error
  }
}

interface Opened {
  readonly folder: string
  readonly before: BigIntStats
  close(): Promise<void>
}

/** Refuses a batch whose rows may come from two versions of the manifest. @throws FileChanged */
async function* checkEach(
  batches: Candidates,
  file: FileHandle,
  { folder, before, close }: Opened,
): Candidates {
  const handle = { stat: () => file.stat({ bigint: true }) }
  const watched = { name: manifestName, path: join(folder, manifestName), handle }
  try {
    for await (const batch of batches) {
      await refuseChanged(watched, before)
      yield batch
    }
  } finally {
    await close()
  }
}

/** Number of bytes from which the encoding and the delimiter of a manifest are determined. */
const tellingBytes = 64 * 1024
/** Possible delimiters. Vertical bars are none, because they separate the files in a cell of `files`. */
const delimiters: readonly Delimiter[] = [',', ';', '\t']

async function formOf(file: FileHandle) {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(tellingBytes), 0, tellingBytes, 0)
  const start = buffer.subarray(0, bytesRead)
  const encoding = utf16Of(start)
  const text = new TextDecoder(encoding).decode(start)
  const isWhole = bytesRead < tellingBytes
  return { encoding, delimiter: guessDelimiter(text, isWhole, ['identifier'], delimiters) }
}

/**
 * Counts lines for the progress, which follows rows instead of bytes: rows are read ahead, and most
 * time goes into their files.
 */
async function countLines(file: FileHandle): Promise<number> {
  let lines = 0
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false }) as AsyncIterable<Buffer>)
    lines += lineBreaksIn(chunk.toString('latin1'), 0, chunk.length)
  return lines + 1
}

async function* flatten(batches: AsyncIterable<Row[]>): AsyncGenerator<Row> {
  for await (const rows of batches) yield* rows
}

/** Characters of a column's name that are examined. */
const maxColumnName = 400
const maxColumns = 1_000

/** @throws ImportError */
export function readHeader({ line, cells }: Row): Column[] {
  if (cells.length > maxColumns) throw new ImportError(`there are more than ${maxColumns} columns`, { line })
  const columns = cells.map((cell): Column => {
    const name = cell.slice(0, maxColumnName).trim()
    const own = ownColumns.find(one => one === name)
    if (own) return { kind: own }
    const [, key = name, language = ''] = /^(.*?)\[(.*)\]$/.exec(name) ?? []
    if (!isKey(key))
      throw new ImportError(
        `${JSON.stringify(name)} is not a column; use ${ownColumns.join(', ')}, or metadata as ` +
          'schema.element or schema.element.qualifier, with a language if needed, such as dc.title[de]',
        { line },
      )
    return { kind: 'metadata', key, language: language || null }
  })
  const texts = new Set<string>()
  const double = columns.findIndex(one => texts.size === texts.add(JSON.stringify(one)).size)
  if (double >= 0) throw new ImportError(`two columns are named ${cells[double]?.trim()}`, { line })
  if (!columns.some(({ kind }) => kind === 'identifier'))
    throw new ImportError(`the column identifier is missing`, { line })
  return columns
}

async function* readItems(
  folder: string,
  columns: readonly Column[],
  rows: AsyncIterable<Row>,
  lines: number,
  options: SourceOptions,
): Candidates {
  let batch: Promise<Candidate>[] = []
  let count = 0
  const take = async (share: number) => {
    const candidates = await Promise.all(batch)
    batch = []
    return { candidates, share }
  }
  try {
    for await (const row of rows) {
      batch.push(toCandidate(folder, columns, row, options))
      count++
      if (batch.length >= itemsAtOnce) yield await take(row.line / lines)
    }
  } catch (error) {
    if (!(error instanceof ImportError)) throw error
    // Without the end of a quotation, the following lines can't be told apart.
    const reason = `${error.message}; nothing after it was read`
    count++
    batch.push(Promise.resolve({ kind: 'bad', where: manifestName, reason }))
  }
  if (count === 0)
    throw new ImportError(`${manifestName}: there are no rows after the line that names the columns`)
  yield await take(1)
}

async function toCandidate(
  folder: string,
  columns: readonly Column[],
  row: Row,
  options: SourceOptions,
): Promise<Candidate> {
  const where = `${manifestName}, line ${row.line}`
  try {
    return { kind: 'item', where, item: await readItem(folder, columns, row, options) }
  } catch (error) {
    if (error instanceof BadItem) return { kind: 'bad', where, reason: error.message }
    throw error
  }
}

const maxDescription = 1024 * 1024

async function readItem(
  folder: string,
  columns: readonly Column[],
  { cells }: Row,
  options: SourceOptions,
): Promise<FoundItem> {
  if (cells.length !== columns.length)
    throw new BadItem(`it has ${cells.length} cells for ${columns.length} columns`)
  if (cells.reduce((length, cell) => length + cell.length, 0) > maxDescription)
    throw new BadItem('it is longer than 1 MB')
  const metadata = createMetadata()
  const own = { identifier: '', files: '', readers: '', collections: '' }
  for (const [at, column] of columns.entries()) {
    const cell = cells[at] ?? ''
    if (column.kind !== 'metadata') own[column.kind] = cell.trim()
    else for (const value of cell.split('||')) metadata.add(column.key, { value, language: column.language })
  }
  return toItem({
    origin: { identifier: 'given', folder: null },
    identifier: own.identifier,
    metadata: metadata.all,
    collections: listed(own.collections),
    readers: own.readers === '' ? null : parseReaders(listed(own.readers), options.groups),
    files: await findFiles(
      folder,
      listed(own.files).map(path => ({ path, bundle: bundleOf(path), description: null, readers: null })),
    ),
  })
}

/** Returns the parts between vertical bars. */
const listed = (cell: string): string[] =>
  cell
    .split('|')
    .map(one => one.trim())
    .filter(one => one !== '')
