import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvRows } from '../../src/import/csv-rows.ts'
import type { Reading } from '../../src/import/csv-text.ts'

async function* inPieces(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** Reads the rows with their lines, or the rows before a fault and its message. */
async function read(bytes: Buffer, size: number, reading: Partial<Reading> = {}) {
  const rows: unknown[] = []
  try {
    for await (const some of csvRows(inPieces(bytes, size), { delimiter: ',', ...reading }))
      rows.push(...some.map(({ line, cells }) => [line, ...cells]))
  } catch (error) {
    rows.push(error instanceof Error ? error.message.split(';')[0] : error)
  }
  return rows
}

test('rows are the same wherever their text is cut', async () => {
  for (const [text, expected, reading] of [
    [
      '\ufeffa,b\r\n1,"x ""y"" \r z"\r\r\n\n"","ä😀"\n3,\r',
      [
        [1, 'a', 'b'],
        [2, '1', 'x "y" \r z'],
        [6, '', 'ä😀'],
        [7, '3', ''],
      ],
    ],
    [
      'a,b\n1,"2"',
      [
        [1, 'a', 'b'],
        [2, '1', '2'],
      ],
    ],
    ['a,b\n1,2,\n', [[1, 'a', 'b'], 'line 2: the row and the header differ in length: 3 and 2 cells']],
    [
      'a,b\n1,"2\r',
      [[1, 'a', 'b'], "line 2: the quoted value that begins here doesn't end before the file does"],
    ],
    ['a,b\r\r\n"1"x,2', [[1, 'a', 'b'], 'line 3: text after the closing double quote of a cell']],
    [
      'a\n""\n\n"b"\r',
      [
        [1, 'a'],
        [2, ''],
        [4, 'b'],
      ],
    ],
    [
      'SEP=|\r\na|b\r\n1|2',
      [
        [2, 'a', 'b'],
        [3, '1', '2'],
      ],
      { delimiter: '|' },
    ],
    [
      ' "a" \t "b\tc"\u00a0\r \r1 \t 2 3\ufeff\n',
      [
        [1, 'a', 'b\tc'],
        [3, '1', '2 3'],
      ],
      { delimiter: '\t', lenient: true },
    ],
    [
      'a,ü\n1,\x00',
      [
        [1, 'a', 'ü'],
        [2, '1', '\0'],
      ],
    ],
  ] as const) {
    const bytes = Buffer.from(text)
    for (const size of [1, 2, 3, 5, 7, bytes.length])
      assert.deepEqual(
        await read(bytes, size, reading),
        expected,
        `${JSON.stringify(text)} in pieces of ${size}`,
      )
  }
})

test('a byte that is not UTF-8 is named with its line and column, behind the rows before it', async () => {
  const bytes = Buffer.concat([Buffer.from('a,b\r1,ä\ufffd\n2,😀x'), Buffer.from([0xe4, 0x0a])])
  for (const size of [1, 2, 4, bytes.length]) {
    const rows = await read(bytes, size)
    assert.deepEqual(
      rows,
      [[1, 'a', 'b'], [2, '1', 'ä\ufffd'], 'line 3: not UTF-8: the byte 0xE4 in column 6'],
      `${size}`,
    )
  }
})

test('a file without a line feed may be longer than a line, and one row may not', async () => {
  const chunk = Buffer.from(`1,${'y'.repeat(1_021)}\r`.repeat(256))
  const many = async function* (text: Buffer, count: number) {
    for (let n = 0; n < count; n++) yield text
  }
  let rows = 0
  for await (const some of csvRows(many(chunk, 70), { delimiter: ',' })) rows += some.length
  assert.equal(rows, 70 * 256)
  const endless = csvRows(many(Buffer.alloc(256 * 1024, 'y'), 70), { delimiter: ',' })
  await assert.rejects(
    async () => {
      for await (const some of endless) assert.deepEqual(some, [])
    },
    { message: 'line 1: a row longer than 16 MB' },
  )
})
