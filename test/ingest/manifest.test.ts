import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ImportError } from '../../src/import/source.ts'
import { readHeader } from '../../src/ingest/manifest.ts'

const header = (...cells: string[]) => readHeader({ line: 1, cells })

test('columns of the manifest are its own four and metadata, with a language if wanted', () => {
  assert.deepEqual(
    header(
      'identifier',
      ' files',
      'readers ',
      'collections',
      'dc.title',
      'dc.title[de]',
      'dc.title.alternative[]',
    ),
    [
      { kind: 'identifier' },
      { kind: 'files' },
      { kind: 'readers' },
      { kind: 'collections' },
      { kind: 'metadata', key: 'dc.title', language: null },
      { kind: 'metadata', key: 'dc.title', language: 'de' },
      { kind: 'metadata', key: 'dc.title.alternative', language: null },
    ],
  )
})

test('a column that is none stops the run, and the message lists those that are', () => {
  for (const [cells, message] of [
    [
      ['identifier', 'title'],
      /^line 1: "title" is no column; there are identifier, files, readers, collections, and metadata as schema\.element/,
    ],
    [['identifier', 'Files'], /"Files" is no column/],
    [['identifier', ''], /"" is no column/],
    [['identifier', 'dc.title.'], /is no column/],
    [['identifier', 'dc.title[de'], /is no column/],
    [['identifier', 'dc.title', 'dc.title[]'], /two columns are called dc\.title\[\]/],
    [['identifier', 'files', ' files'], /two columns are called files/],
    [['files', 'dc.title'], /there is no column identifier/],
    [
      ['identifier', ...Array.from({ length: 1_000 }, (_, at) => `dc.a${at}`)],
      /^line 1: there are more than 1000 columns/,
    ],
  ] as [string[], RegExp][])
    assert.throws(
      () => header(...cells),
      error => error instanceof ImportError && message.test(error.message),
      cells.join(),
    )
})
