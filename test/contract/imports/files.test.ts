import assert from 'node:assert/strict'
import { appendFileSync, renameSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { commandEvent } from '../../../src/cli/store.ts'
import { importFile } from '../../../src/entities/import-entity.ts'
import { ImportError } from '../../../src/import/import-error.ts'
import type { ReadingOptions } from '../../../src/import/reading-options.ts'
import { bodyOf, list, listPath } from '../../support/clients/listings.ts'
import { importText } from '../../support/data/imports.ts'
import { test } from '../../support/service/engines.ts'
import { type Service, startService } from '../../support/service/service.ts'

const recordsOf = async (service: Service, content: string | Uint8Array, reading: ReadingOptions = {}) => {
  const report = await importText(service, content, {
    entity: 'thing',
    key: 'id',
    file: 'table.csv',
    reading,
  })
  return { report, records: JSON.parse(await bodyOf(service, listPath('thing'))) }
}

test('D2 UTF-16 is read, other encodings if they are named, and a byte of another one is named with what it may be', async t => {
  const service = await startService(t)
  const text = 'id;name\r\n1;Müller “😀”\r\n'
  const little = Buffer.from(text, 'utf16le')
  const marked = Buffer.from(`\ufeff${text}`, 'utf16le')
  const table = [{ id: 1, name: 'Müller “😀”' }]
  for (const bytes of [
    little,
    marked,
    Buffer.from(little).swap16(),
    Buffer.from(marked).swap16(),
    gzipSync(marked),
  ])
    assert.deepEqual((await recordsOf(service, bytes)).records, table)
  // The two halves of a character are read in different pieces.
  const long = `id,name\n1,${'x'.repeat(128 * 1024 - 'id,name\n1,'.length - 1)}😀\n`
  const { records } = await recordsOf(service, Buffer.from(long, 'utf16le'))
  assert.deepEqual(records[0].name.slice(-3), 'x😀')
  await importText(service, Buffer.from('\ufeff{"id":1,"t":"ä"}\r\n', 'utf16le'), {
    entity: 'json',
    key: 'id',
  })
  assert.deepEqual(await list(service.client(), 'json'), [{ id: 1, t: 'ä' }])

  const french = Buffer.from('id,t\n1,\x93d\xe9j\xe0 vu\x94 \x80 5\n', 'latin1')
  assert.deepEqual((await recordsOf(service, french, { encoding: 'windows-1252' })).records, [
    { id: 1, t: '“déjà vu” € 5' },
  ])
  assert.deepEqual(
    (await recordsOf(service, Buffer.from('id,t\n1,\x8etude\n', 'latin1'), { encoding: 'macintosh' }))
      .records,
    [{ id: 1, t: 'étude' }],
  )
  const bytes = (latin1: string) => Buffer.from(latin1, 'latin1')
  for (const [content, message, encoding] of [
    [
      french,
      /^line 2: not UTF-8: the byte 0x93 in column 3; as Windows-1252 it would be "“déjà": if that is right, use --encoding windows-1252$/,
    ],
    [
      bytes('id,t\rx,a\r1,gr\xfc\xdfe\r'),
      /^line 3: .* 0xFC in column 5; as Windows-1252 it would be "grüße"/,
    ],
    [
      bytes('id,t\n1,M\x9fller\n2,\xd2it\xd5s\xd3\n'),
      /^line 2: .* 0x9F in column 4; as Mac Roman it would be "Müller": .*--encoding macintosh$/,
    ],
    // A damaged byte of UTF-8, Cyrillic, and a DOS encoding.
    [
      Buffer.concat([Buffer.from('id,t\n1,größer\n2,fü'), bytes('\xe4\n')]),
      /^line 3: .* 0xE4 in column 5; other characters of the file are UTF-8/,
    ],
    [bytes('id,t\n1,\xcc\xee\xf1\xea\xe2\xe0\n'), /^line 2: .* 0xCC in column 3; save the file as UTF-8/],
    [bytes('id,t\n1,gr\x81n\n'), /^line 2: .* 0x81 in column 5; save the file as UTF-8/],
    [bytes('id,t\n1,x\x81\n'), /^line 2: column 4 has no character of windows-1252/, 'windows-1252'],
    [
      Buffer.from('\ufeffid,t\n'),
      /^line 1: the file is utf-8, as its first bytes show, and not macintosh/,
      'macintosh',
    ],
    [
      Buffer.concat([Buffer.from('id,t\n1,a\n2,b', 'utf16le'), bytes('\x00')]),
      /^line 3: column 4 has no character of utf-16le/,
    ],
    [Buffer.from('id,t\n1,\ud800x\n', 'utf16le'), /^line 2: column 3 has no character of utf-16le/],
  ] as const)
    await refuses(service, content, message, encoding && { encoding })
})

test('D2 files that are no text are refused by what they are, whatever their names say', async t => {
  const service = await startService(t)
  const zip = (name: string) => `PK\x03\x04${'\0'.repeat(26)}${name}`
  for (const [start, message] of [
    [
      zip('[Content_Types].xml'),
      /is an Office document, such as an Excel workbook \(\.xlsx\), .*; save the table as CSV/,
    ],
    // The first file in it is one that only this workbook has.
    [`${zip('custom/note.txt')}text${zip('xl/workbook.xml')}`, /an Excel workbook \(\.xlsx\)/],
    [zip('mimetypeapplication/vnd.oasis.opendocument.spreadsheet'), /OpenDocument/],
    [zip('data.csv'), /is a zip archive, not CSV or JSON; unpack it/],
    ['\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0', /\.xls/],
    ['BZh91AY&SY\0', /bzip2/],
    ['\xfd7zXZ\0\0', /xz/],
    ['\x28\xb5\x2f\xfd\x04', /zstd/],
    ['%PDF-1.7\n', /PDF/],
    ['PAR1\x15\x04', /Parquet/],
    [`${'data.csv'.padEnd(257, '\0')}ustar\x0000`, /tar archive/],
  ] as const) {
    const bytes = Buffer.from(start, 'latin1')
    await refuses(service, bytes, message)
    await refuses(service, gzipSync(bytes), message)
  }
  await refuses(
    service,
    Buffer.from(zip('a.xml'), 'latin1'),
    /an Excel workbook .*; save the table as CSV/,
    {},
    'report.XLSX',
  )
  // Names of columns that only look like the signatures of these formats.
  const { records } = await recordsOf(service, 'PAR1,BZh9,id\n1,2,3\n')
  assert.deepEqual(records, [{ PAR1: 1, BZh9: 2, id: 3 }])
})

test('D2 a file that changes while it is read is refused, and nothing changes', async t => {
  const service = await startService(t)
  await service.addRecords('kept', 'key', [{ key: 'old' }])
  const before = 'id,name\n1,a\n2,b\n'
  const changes: Readonly<Record<string, (path: string) => void>> = {
    'written over with swapped columns': path => writeFileSync(path, 'name,id\na,1\nb,2\n'),
    'written over with text for numbers': path => writeFileSync(path, 'id,name\nx,a\ny,b\n'),
    'appended to': path => appendFileSync(path, '3,c\n'),
    'cut off': path => truncateSync(path, 10),
    emptied: path => truncateSync(path),
    replaced: path => {
      writeFileSync(`${path}.new`, before)
      renameSync(`${path}.new`, path)
    },
  }
  for (const [file, text] of [
    ['table.csv', before],
    ['records.ndjson', '{"id":1}\n{"id":2}\n'],
    ['records.json', '[{"id":1},{"id":2}]'],
  ] as const)
    for (const [name, change] of Object.entries(changes)) {
      const path = join(service.dataFolder, file)
      writeFileSync(path, text)
      utimesSync(path, 1_700_000_000, 1_700_000_000)
      let hasChanged = false
      const progress = (step: string, share: number) => {
        if (step !== 'reading' || share === 0 || hasChanged) return
        hasChanged = true
        change(path)
      }
      const options = { name: 'kept', key: 'id', read: null, event: commandEvent('entity.import') }
      await assert.rejects(
        importFile(path, service.storage.entities, options, progress),
        error =>
          error instanceof ImportError &&
          /^(table|records)\.\w+ (changed|was replaced) while it was being read; /.test(error.message),
        `${file} ${name}`,
      )
      assert.deepEqual(await list(service.client(), 'kept'), [{ key: 'old' }])
    }
})

async function refuses(
  service: Service,
  content: string | Uint8Array,
  message: RegExp,
  reading: ReadingOptions = {},
  file = 'table.csv',
): Promise<void> {
  const error = await importText(service, content, {
    entity: 'kept',
    key: 'id',
    file,
    reading,
  }).then(
    () => assert.fail(`it was imported: ${Buffer.from(content).subarray(0, 100).toString()}`),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof ImportError, String(error))
  assert.match(error.message, message)
}
