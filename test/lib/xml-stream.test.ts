import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readXml, type XmlHandler } from '../../src/lib/xml-stream.ts'

const nothing: XmlHandler = { open: () => {}, text: () => {}, close: () => {} }

function read(xml: string, piece = 64 * 1024): void {
  const reader = readXml(nothing)
  for (let at = 0; at < xml.length; at += piece) reader.write(xml.slice(at, at + piece))
  reader.end()
}

const deep = (depth: number) => '<a>'.repeat(depth) + '</a>'.repeat(depth)
const wide = (attributes: number) =>
  `<a ${Array.from({ length: attributes }, (_, at) => `b${at}="1"`).join(' ')}/>`
const million = 1024 * 1024

const refused: readonly (readonly [name: string, xml: string, why: RegExp])[] = [
  ['a document type', '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', /document type/],
  ['an entity that nobody has declared', '<a>&b;</a>', /not well-formed XML \(line 1, column \d+\)/],
  ['an element that isn’t closed', '<a><b></a>', /not well-formed/],
  ['two roots', '<a/><a/>', /not well-formed/],
  ['nothing', '', /not well-formed/],
  ['a prefix that nobody has declared', '<p:a/>', /not well-formed/],
  ['an attribute that comes twice', '<a b="1" b="2"/>', /not well-formed/],
  ['a processing instruction', '<a><?b c?></a>', /processing instruction/],
  ['another encoding', '<?xml version="1.0" encoding="UTF-16"?><a/>', /not UTF-8/],
  ['another version', '<?xml version="1.1"?><a/>', /not XML 1\.0/],
  ['elements that are nested too deeply', deep(41), /more than 40 deep/],
  ['too many attributes', wide(101), /more than 100 attributes/],
  ['an endless text', `<a>${'b'.repeat(2 * million)}</a>`, /larger than any real one/],
  ['an endless comment', `<a><!--${'b'.repeat(2 * million)}--></a>`, /larger than any real one/],
  ['an endless tag', `<a b="${'c'.repeat(2 * million)}"/>`, /larger than any real one/],
  ['endlessly many attributes', wide(400_000), /larger than any real one/],
]

for (const [name, xml, why] of refused)
  test(`XML that is streamed: ${name} is refused`, () => {
    assert.throws(() => read(xml), why)
  })

test('XML that is streamed: what is within the bounds is read', () => {
  for (const xml of [
    deep(40),
    wide(100),
    `<?xml version="1.0" encoding="utf-8"?>\n<?b c?><a>${'b'.repeat(million / 2)}</a>`,
  ])
    assert.doesNotThrow(() => read(xml))
})

test('XML that is streamed: names like those of JavaScript’s own are only names', () => {
  const seen: string[] = []
  const reader = readXml({
    ...nothing,
    open: ({ attributes, declared }) =>
      seen.push(...attributes.map(one => one.name), ...declared.map(([one]) => one)),
  })
  reader.write('<a __proto__="1" constructor="2" xmlns:__proto__="u:1" xmlns:toString="u:2"/>')
  reader.end()
  assert.deepEqual(seen, ['__proto__', 'constructor', '__proto__', 'toString'])
})
