import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BadItem } from '../../../src/items/ingest/item.ts'
import { type ListedFile, parseContents } from '../../../src/items/ingest/item-folder.ts'

const groups = new Set(['Campus', 'MIT Users'])
const file = (path: string, rest: Partial<ListedFile> = {}): ListedFile => ({
  path,
  bundle: 'ORIGINAL',
  description: null,
  readers: null,
  ...rest,
})

test('a line names a file, with its fields after tabs', () => {
  for (const [text, expected] of [
    ['', []],
    ['\n  \n', []],
    ['a.pdf', [file('a.pdf')]],
    ['a.pdf\r\nb c.pdf\r\n', [file('a.pdf'), file('b c.pdf')]],
    ['sub/a.pdf', [file('sub/a.pdf')]],
    ['license.txt', [file('license.txt', { bundle: 'LICENSE' })]],
    ['license.txt\tbundle:ORIGINAL', [file('license.txt')]],
    ['a.txt\tbundle:TEXT', [file('a.txt', { bundle: 'TEXT' })]],
    ['a.txt\tdescription: The whole: text ', [file('a.txt', { description: 'The whole: text' })]],
    ['a.txt\tdescription:', [file('a.txt')]],
    ["a.txt\tpermissions:-r 'MIT Users'", [file('a.txt', { readers: [{ reader: 'group:MIT Users' }] })]],
    ["a.txt\tpermissions: -r 'Campus'", [file('a.txt', { readers: [{ reader: 'group:Campus' }] })]],
    ["a.txt\tpermissions:-r'Campus'", [file('a.txt', { readers: [{ reader: 'group:Campus' }] })]],
    ['a.txt\tpermissions:-r MIT Users', [file('a.txt', { readers: [{ reader: 'group:MIT Users' }] })]],
    ["a.txt\tpermissions:-r 'Anonymous'", [file('a.txt', { readers: [{ reader: 'anonymous' }] })]],
    ["a.txt\tpermissions:-w 'Campus'", [file('a.txt', { readers: [] })]],
    ['a.txt\treaders:admin', [file('a.txt', { readers: [] })]],
    [
      'a.txt\treaders:eperson from:2027-01-01\treaders:group:MIT Users',
      [
        file('a.txt', {
          readers: [{ reader: 'eperson', from: '2027-01-01' }, { reader: 'group:MIT Users' }],
        }),
      ],
    ],
    [
      "a.txt\tbundle:TEXT\tpermissions:-r 'Campus'\tdescription:x\tprimary:true",
      [file('a.txt', { bundle: 'TEXT', description: 'x', readers: [{ reader: 'group:Campus' }] })],
    ],
    ['a.tif\tiiif-label:Page 1\tiiif-width:10\tiiif-height:20\tiiif-toc:One|Two', [file('a.tif')]],
  ] as [string, ListedFile[]][])
    assert.deepEqual(parseContents(text, groups), expected, text)
})

test('the primary file comes first, the others in their order', () => {
  const text = 'a.pdf\nb.pdf\tprimary:false\nc.pdf\tprimary:true\nd.pdf\n'
  assert.deepEqual(
    parseContents(text, groups).map(({ path }) => path),
    ['c.pdf', 'a.pdf', 'b.pdf', 'd.pdf'],
  )
})

test('a line that is not understood is named, so that a mistake opens nothing', () => {
  for (const [text, message] of [
    ['a.pdf\n-r -s 1 -f images/a.tif', /^line 2: registered files/],
    ['  -r -s 1 -f a.tif\tbundle:X', /^line 1: registered files/],
    ['a.pdf\tpermission:-r Campus', /^line 1: "permission:-r Campus" is not a field/],
    ['a.pdf\tsomething', /is not a field/],
    ["a.pdf\tpermissions:-r 'Nobody'", /there is no group "Nobody"/],
    ["a.pdf\tpermissions:-r 'campus'", /there is no group "campus"/],
    ["a.pdf\tpermissions:'Campus'", /permissions: takes -r/],
    ["a.pdf\tpermissions:-x 'Campus'", /permissions: takes -r/],
    ["a.pdf\tpermissions:-r ''", /permissions: takes -r/],
    ['a.pdf\tpermissions:-r', /permissions: takes -r/],
    ["a.pdf\tpermissions:-r 'Campus' -r 'MIT Users'", /permissions: takes -r/],
    ['a.pdf\tpermissions:', /permissions: takes -r/],
    [`a.pdf\tpermissions:-r a${' '.repeat(900_000)}'`, /longer than 1000 characters/],
    ['a.pdf\treaders:', /is not a rule/],
    ['a.pdf\treaders:everybody', /is not a rule/],
    ['a.pdf\tprimary:yes', /primary: takes true or false/],
    ['b.pdf\\tbundle:LICENSE', /^line 1: it has a backslash and a t, where a tab must be/],
    ['b.pdf\tbundle:TEXT\\tdescription:x', /^line 1: it has a backslash and a t/],
    ['a.pdf\tbundle:TEXT\tbundle:LICENSE', /^line 1: it has bundle: twice; write it once$/],
    ['a.pdf\tdescription:\tdescription:b', /^line 1: it has description: twice/],
    ['a.pdf\tprimary:true\tprimary:false', /^line 1: it has primary: twice/],
    ['a.pdf\tpermissions:-r "Campus"', /single quotes, not in double ones; write -r 'Campus'$/],
    [`a.pdf${'\treaders:anonymous'.repeat(101)}`, /^line 1: it has more than 100 fields/],
    [`a.pdf${'\treaders:anonymous'.repeat(50_000)}`, /^line 1: it has more than 100 fields/],
    ['a\n'.repeat(10_001), /more than 10,000 files/],
  ] as [string, RegExp][])
    assert.throws(
      () => parseContents(text, groups),
      error => error instanceof BadItem && message.test(error.message),
      text.slice(0, 100),
    )
})

test('the largest allowed numbers of files and fields are read', () => {
  assert.equal(parseContents('a\n'.repeat(10_000), groups).length, 10_000)
  const [file] = parseContents(`a.pdf${'\treaders:eperson'.repeat(100)}`, groups)
  assert.equal(file?.readers?.length, 100)
})
