import { ImportError } from './import-error.ts'

/** Number of bytes at the beginning of a file that identify its kind. */
export const tellingBytes = 4096

interface Kind {
  readonly is: (start: string, name: string) => boolean
  readonly what: string
  readonly advice: string
}

const unpack = 'unpack it, and import what is in it'
const asCsv = 'save the table as CSV (UTF-8) there, and import that'
const begins =
  (...signatures: readonly string[]) =>
  (start: string) =>
    signatures.some(one => start.startsWith(one))
/** A header of a file in a zip file, with a name that Office documents have. */
const officePart = /PK\p{Cc}{2}.{26}(\[Content_Types\]\.xml|_rels\/|docProps\/|customXml\/|xl\/)/su
/** True for a zip file. The name of its first file begins at byte 30. */
const isZip = begins('PK\x03\x04', 'PK\x05\x06')

/** Files that are not text, by their first bytes as Latin-1 (from file(1) and the documents of the formats). */
const kinds: readonly Kind[] = [
  {
    is: (start, name) => isZip(start) && (officePart.test(start) || /\.xls[xmb]$/i.test(name)),
    what: 'an Office document, such as an Excel workbook (.xlsx)',
    advice: asCsv,
  },
  {
    is: (start, name) =>
      isZip(start) &&
      (/^.{30}mimetypeapplication\/vnd\.oasis\.opendocument/s.test(start) || /\.ods$/i.test(name)),
    what: 'an OpenDocument file (.ods)',
    advice: asCsv,
  },
  { is: isZip, what: 'a zip archive', advice: unpack },
  {
    is: begins('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'),
    what: 'a file of an old Microsoft Office (.xls)',
    advice: asCsv,
  },
  {
    is: start => /^BZh[1-9]1AY&SY/.test(start),
    what: 'packed with bzip2',
    advice: 'unpack it with bunzip2, or pack it with gzip',
  },
  { is: begins('\xfd7zXZ\0'), what: 'packed with xz', advice: 'unpack it with unxz, or pack it with gzip' },
  {
    is: begins('\x28\xb5\x2f\xfd'),
    what: 'packed with zstd',
    advice: 'unpack it with unzstd, or pack it with gzip',
  },
  { is: begins('7z\xbc\xaf\x27\x1c'), what: 'a 7-Zip archive', advice: unpack },
  { is: begins('Rar!\x1a\x07'), what: 'a RAR archive', advice: unpack },
  { is: start => /^ustar[\0 ]/.test(start.slice(257)), what: 'a tar archive', advice: unpack },
  {
    is: start => /^%PDF-\d/.test(start),
    what: 'a PDF document',
    advice: 'import the table that it was made from, as CSV',
  },
  {
    is: start => start.startsWith('PAR1') && !/^[\t\r\n -\xff]/.test(start.slice(4)),
    what: 'a Parquet file',
    advice: "convert it, for example with DuckDB: COPY (FROM 'file.parquet') TO 'file.csv'",
  },
  {
    is: begins('ARROW1\0\0'),
    what: 'an Arrow file',
    advice: 'write its table as CSV, for example with pandas',
  },
  {
    is: begins('SQLite format 3\0'),
    what: 'an SQLite database',
    advice: 'write the table as CSV: sqlite3 -header -csv file "select * from …"',
  },
  {
    is: begins('\x89PNG\r\n\x1a\n', '\xff\xd8\xff', 'GIF8'),
    what: 'a picture',
    advice: 'import a table as CSV, or records as JSON',
  },
  { is: begins('{\\rtf'), what: 'a text document (.rtf)', advice: 'save it as plain text (UTF-8)' },
  {
    is: start => /^(\xef\xbb\xbf)?\s*<(!doctype html|html|head|body|table)[\s>]/i.test(start),
    what: 'a page of HTML',
    advice:
      'it may be one to log in, or an error of the service that it comes from: get the data itself, as CSV or JSON',
  },
  {
    is: start => /^(\xef\xbb\xbf)?\s*<\?xml\s/i.test(start),
    what: 'an XML document',
    advice: 'import the data as CSV or JSON',
  },
  { is: begins('\xff\xfe\0\0', '\0\0\xfe\xff'), what: 'UTF-32', advice: 'save it as UTF-8' },
]

/**
 * @param start the beginning of the unpacked file
 * @throws ImportError for a file without records, whatever its name says
 */
export function refuseOtherKinds(name: string, start: Buffer): void {
  const text = start.toString('latin1')
  const kind = kinds.find(({ is }) => is(text, name))
  if (kind) throw new ImportError(`${name} is ${kind.what}, not CSV or JSON; ${kind.advice}`)
}

/** Maximum length of consecutive white space in bytes; real files have less between two records. */
const maxBlankBytes = 16 * 1024 * 1024

/** Size in bytes up to which a file may unpack at any ratio. */
const freelyUnpacked = 64 * 1024 * 1024
/**
 * Maximum ratio of unpacked to packed size. Records are packed 5 to 50 times; the fastest level of gzip
 * reaches 230 and the best 1,030.
 */
const maxExpansion = 150

/**
 * Passes bytes on, but refuses endless white space.
 * @param lineAt finds the line of a byte
 * @throws ImportError naming the line on which the white space begins
 */
export async function* refuseBlank(
  chunks: AsyncIterable<Buffer>,
  lineAt: (offset: number) => Promise<number>,
): AsyncIterable<Buffer> {
  let read = 0
  /** Offset of the white space at the end of what was read so far. */
  let from = 0
  for await (const chunk of chunks) {
    read += chunk.length
    const end = endOfText(chunk)
    if (end > 0) from = read - chunk.length + end
    if (read - from > maxBlankBytes)
      throw new ImportError(
        `more than 16 MB of white space begin here; remove them, if the records go on after them`,
        { line: await lineAt(from) },
      )
    yield chunk
  }
}

/** @returns the offset after the last byte that is not white space; 0 if there is none */
function endOfText(chunk: Buffer): number {
  let end = chunk.length
  while (end > 0 && isBlank(chunk[end - 1] as number)) end--
  return end
}

const isBlank = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)

/** @returns the number of the line that contains this byte */
export async function lineAt(chunks: AsyncIterable<Buffer>, offset: number): Promise<number> {
  let line = 1
  let read = 0
  for await (const chunk of chunks) {
    const before = chunk.subarray(0, offset - read)
    for (let at = before.indexOf(0x0a); at >= 0; at = before.indexOf(0x0a, at + 1)) line++
    read += chunk.length
    if (read >= offset) break
  }
  return line
}

/**
 * Passes unpacked bytes on, until there are too many for the packed ones.
 * @param packed number of bytes that were unpacked so far
 */
export async function* refuseExpansion(
  name: string,
  chunks: AsyncIterable<Buffer>,
  packed: () => number,
): AsyncIterable<Buffer> {
  let read = 0
  for await (const chunk of chunks) {
    read += chunk.length
    if (read > freelyUnpacked && read > maxExpansion * packed())
      throw new ImportError(
        `${name} unpacks to more than ${maxExpansion} times its size; if that is right, unpack it first, and import the unpacked file`,
      )
    yield chunk
  }
}
