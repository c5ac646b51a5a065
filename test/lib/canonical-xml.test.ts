import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DOMParser } from '@xmldom/xmldom'
import fc from 'fast-check'
import { ExclusiveCanonicalization } from 'xml-crypto'
import { writeCanonical } from '../../src/lib/canonical-xml.ts'
import { readXml } from '../../src/lib/xml-stream.ts'
import { runs } from '../support/scale.ts'

/** Canonicalizes XML in pieces, for a comparison with xml-crypto, which works on a whole document. */
function ours(xml: string, inclusive: readonly string[] = [], piece = 7): string {
  const parts: string[] = []
  const reader = readXml(writeCanonical(text => parts.push(text), inclusive))
  for (let at = 0; at < xml.length; at += piece) reader.write(xml.slice(at, at + piece))
  reader.end()
  return parts.join('')
}

const theirs = (xml: string, inclusiveNamespacesPrefixList: string[] = []): string =>
  new ExclusiveCanonicalization().process(
    new DOMParser().parseFromString(xml, 'text/xml').documentElement as never,
    { inclusiveNamespacesPrefixList },
  )

const documents: Readonly<Record<string, string>> = {
  'no namespaces': '<a><b/><c d="1"></c></a>',
  'namespaces are written where they are used':
    '<p:a xmlns:p="u:p" xmlns:q="u:q"><q:b/><q:c><q:d/></q:c></p:a>',
  'a prefix is declared again': '<p:a xmlns:p="u:1"><p:b xmlns:p="u:2"><p:c/></p:b><p:d/></p:a>',
  'the same again': '<p:a xmlns:p="u:1"><p:b xmlns:p="u:1"/></p:a>',
  'a default namespace': '<a xmlns="u:1"><b xmlns=""><c/></b><d/></a>',
  'a namespace that only an attribute uses': '<a xmlns:q="u:q"><b q:c="1"/><d/></a>',
  'the order of attributes': '<a xmlns:z="u:1" xmlns:y="u:2" y:b="1" z:c="2" d="3" a="4" z:a="5"/>',
  'xml:lang': '<a xml:lang="en" b="1"/>',
  'special characters in texts': '<a>&amp;&lt;&gt;"\'&#13;&#10;\t]]&gt;é😀</a>',
  'special characters in attributes': '<a b="&amp;&lt;>&quot;\'&#13;&#10;&#9;é😀"/>',
  'comments are left out': '<a>b<!-- c -->d</a>',
  'sections are texts': '<a><![CDATA[<b>&amp;]]></a>',
  'white space stays': '<a>\n  <b />\n</a>',
}

for (const [name, xml] of Object.entries(documents))
  test(`canonical XML: ${name}`, () => {
    assert.equal(ours(xml), theirs(xml))
  })

test('canonical XML: prefixes that are named are written at once', () => {
  const xml = '<p:a xmlns:p="u:p" xmlns:q="u:q" xmlns:r="u:r"><p:b q:c="1"/></p:a>'
  assert.equal(ours(xml, ['q']), theirs(xml, ['q']))
  assert.match(ours(xml, ['q']), /^<p:a xmlns:p="u:p" xmlns:q="u:q">/)
})

test('canonical XML: line ends and the declaration are as XML has them', () => {
  assert.equal(ours('<?xml version="1.0"?>\r\n<a b="1\r\n2">\r\n</a>\n', [], 1), '<a b="1 2">\n</a>')
})

test('canonical XML: the same as xml-crypto’s for any document', () => {
  const prefix = fc.constantFrom('', 'p:', 'q:')
  const text = fc.string({
    unit: fc.constantFrom('a', '&amp;', '&lt;', '&gt;', '"', ' ', '\n', 'é', '&#13;', '&#9;'),
  })
  const declared = fc.constantFrom(
    '',
    ' xmlns:p="u:1"',
    ' xmlns:q="u:2"',
    ' xmlns:p="u:2"',
    ' xmlns="u:3"',
    ' xmlns=""',
  )
  const value = text.map(one => one.replaceAll('"', '&quot;'))
  const { element } = fc.letrec<{ element: string; inside: string }>(tie => ({
    inside: fc.oneof({ maxDepth: 4 }, text, tie('element')),
    element: fc
      .tuple(
        prefix,
        fc.constantFrom('a', 'b'),
        declared,
        prefix,
        value,
        fc.array(tie('inside'), { maxLength: 4 }),
      )
      .map(
        ([start, name, namespace, of, content, inside]) =>
          `<${start}${name}${namespace} ${of}x="${content}" y="1">${inside.join('')}</${start}${name}>`,
      ),
  }))
  fc.assert(
    fc.property(element, fc.integer({ min: 1, max: 40 }), (inner, piece) => {
      const xml = `<p:root xmlns:p="u:0" xmlns:q="u:9">${inner}</p:root>`
      assert.equal(ours(xml, [], piece), theirs(xml))
    }),
    runs(300, 3_000),
  )
})
