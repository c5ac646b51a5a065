import assert from 'node:assert/strict'
import { appendFileSync, realpathSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ImportError } from '../../../src/import/import-error.ts'
import type { Candidate } from '../../../src/items/ingest/candidates.ts'
import { readHeader } from '../../../src/items/ingest/manifest.ts'
import { openItems } from '../../../src/items/ingest/open-items.ts'
import { type Files, writeFiles } from '../../support/data/archives.ts'
import { temporaryFolder } from '../../support/service/service.ts'

const header = (...cells: string[]) => readHeader({ line: 1, cells })

test('columns of the manifest are four fixed ones and metadata, optionally with a language', () => {
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

test('an unknown column stops the run, and the message lists the known ones', () => {
  for (const [cells, message] of [
    [
      ['identifier', 'title'],
      /^line 1: "title" is not a column; use identifier, files, readers, collections, or metadata as schema\.element/,
    ],
    [['identifier', 'Files'], /"Files" is not a column/],
    [['identifier', ''], /"" is not a column/],
    [['identifier', 'dc.title.'], /is not a column/],
    [['identifier', 'dc.title[de'], /is not a column/],
    [['identifier', 'dc.title', 'dc.title[]'], /two columns are named dc\.title\[\]/],
    [['identifier', 'files', ' files'], /two columns are named files/],
    [['files', 'dc.title'], /^line 1: the column identifier is missing$/],
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

const naming = { name: 'folder', isGiven: false, isKept: true }

/** Reads a folder. @returns the items, and the progress after each batch */
async function read(t: TestContext, files: Files) {
  const folder = realpathSync(writeFiles(temporaryFolder(t), files))
  const batches: { candidates: readonly Candidate[]; share: number }[] = []
  for await (const batch of await openItems(folder, { groups: new Set(), naming })) batches.push(batch)
  return { shares: batches.map(({ share }) => share), found: batches.flatMap(({ candidates }) => candidates) }
}

test('the progress of a manifest follows its rows, not what was read ahead of them', async t => {
  const rows = Array.from({ length: 119 }, (_, at) => `p-${at},"two\nlines"`)
  const { shares, found } = await read(t, { 'manifest.csv': ['identifier,dc.title', ...rows, ''].join('\n') })
  assert.equal(found.length, 119)
  // The file has 240 lines, including the empty one at the end. Rows 50 and 100 begin on lines 100 and 200.
  assert.deepEqual(shares, [100 / 240, 200 / 240, 1])
})

test('UP4 a manifest that changes while it is read is refused, and no batch has rows of two versions', async t => {
  const text = `identifier,dc.title\n${Array.from({ length: 200 }, (_, at) => `p-${at},A`).join('\n')}\n`
  const changes: readonly ((path: string) => void)[] = [
    path => appendFileSync(path, 'p-200,B\n'),
    path => writeFileSync(path, text.replaceAll(',A', ',B')),
    path => {
      writeFileSync(`${path}.new`, text)
      renameSync(`${path}.new`, path)
    },
  ]
  for (const change of changes) {
    const folder = realpathSync(writeFiles(temporaryFolder(t), { 'manifest.csv': text }))
    let batches = 0
    await assert.rejects(async () => {
      for await (const _ of await openItems(folder, { groups: new Set(), naming }))
        if (++batches === 1) change(join(folder, 'manifest.csv'))
    }, /^Error: manifest\.csv (changed|was replaced) while it was being read; /)
    assert.equal(batches, 1)
  }
})

test('rows before a misplaced quote are read, and its line is named', async t => {
  const { found, shares } = await read(t, {
    'manifest.csv': 'identifier,dc.title\na,1\n\nb,2\n"c"x,3\nd,4\n',
  })
  assert.deepEqual(
    found.map(one => (one.kind === 'item' ? one.item.identifier : `${one.where}: ${one.reason}`)).slice(0, 2),
    ['a', 'b'],
  )
  const [, , bad] = found
  assert.ok(bad?.kind === 'bad')
  assert.match(
    bad.reason,
    /^line 5: text after the closing double quote of a cell; .*; nothing after it was read$/,
  )
  assert.deepEqual([found.length, shares], [3, [1]])
})

test('white space and byte-order marks around cells are ignored', async t => {
  const { found } = await read(t, {
    'manifest.csv':
      '\ufeff"identifier" ,dc.title , "files"\ufeff\r\n' +
      '"p-1" , A title \ufeff, "a.txt | b.txt\ufeff" \r\n' +
      '\ufeff\r\n' +
      '\ufeffp-2\u00a0,"A ""title"""\t,\u00a0a.txt\ufeff\r\n',
    'a.txt': 'a',
    'b.txt': 'b',
  })
  assert.deepEqual(
    found.map(one =>
      one.kind === 'item'
        ? [
            one.item.identifier,
            one.item.metadata['dc.title']?.map(({ value }) => value),
            one.item.files.map(({ name }) => name),
          ]
        : one,
    ),
    [
      ['p-1', ['A title'], ['a.txt', 'b.txt']],
      ['p-2', ['A "title"'], ['a.txt']],
    ],
  )
})

test('rows of a manifest end in LF, CRLF or CR, and cells are separated by commas, semicolons or tabs', async t => {
  for (const text of [
    'identifier,files,dc.title\na,,A\r\nb,,B\rc,,"C\r"\n',
    '\nidentifier,files,dc.title\ra,,A\rb,,B\rc,,C',
    'identifier;files;dc.title\r\na;;A\r\nb;;"B"\r\nc;;C\r\n',
    'sep=;\r\nidentifier;files;dc.title\r\na;;A\r\nb;;B\r\nc;;C\r\n',
    Buffer.from('\ufeffidentifier\tfiles\tdc.title\r\na\t\tA\r\nb\t\tB\r\nc\t\tC\r\n', 'utf16le'),
  ]) {
    const { found, shares } = await read(t, { 'manifest.csv': text })
    assert.deepEqual(
      found.map(one =>
        one.kind === 'item'
          ? [one.item.identifier, one.item.metadata['dc.title']?.map(({ value }) => value.trim())]
          : one,
      ),
      [
        ['a', ['A']],
        ['b', ['B']],
        ['c', ['C']],
      ],
    )
    assert.deepEqual(shares, [1])
  }
})
