import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BadItem } from '../../../src/items/ingest/item.ts'
import { createMetadata, isKey, parseMetadata } from '../../../src/items/ingest/item-folder.ts'

const inRoot = (inner: string, attributes = '') => `<dublin_core${attributes}>${inner}</dublin_core>`

test('a dcvalue is a value under schema, element and qualifier', () => {
  for (const [xml, key, value, language] of [
    ['<dcvalue element="title">A</dcvalue>', 'dc.title', 'A', null],
    ['<dcvalue element="title" qualifier="none">A</dcvalue>', 'dc.title', 'A', null],
    ['<dcvalue element="title" qualifier="">A</dcvalue>', 'dc.title', 'A', null],
    [
      '<dcvalue element="title" qualifier="alternative" language="de">Ä</dcvalue>',
      'dc.title.alternative',
      'Ä',
      'de',
    ],
    ['<dcvalue element="title" language="">A</dcvalue>', 'dc.title', 'A', null],
    ['<dcvalue element="title">a &lt;b&gt; &amp; &#228;&#xE4;</dcvalue>', 'dc.title', 'a <b> & ää', null],
    [
      '<dcvalue element="title"><![CDATA[<!DOCTYPE x> & so]]></dcvalue>',
      'dc.title',
      '<!DOCTYPE x> & so',
      null,
    ],
    ['<dcvalue element="title">a<!-- no -->b</dcvalue>', 'dc.title', 'ab', null],
    ['<?x <!-- & ?><dcvalue element="title">a</dcvalue><?y --> ?>', 'dc.title', 'a', null],
    ['<?x <!-- & ?><dcvalue element="title">a</dcvalue>', 'dc.title', 'a', null],
    ['<dcvalue element="title" language="a > b">a > b</dcvalue >', 'dc.title', 'a > b', 'a > b'],
  ] as const)
    assert.deepEqual(parseMetadata(inRoot(xml), 'dc'), [{ key, value, language }], xml)
})

test('the schema is the one in the file, or else the one in its name', () => {
  const value = '<dcvalue element="date" qualifier="end">1900</dcvalue>'
  for (const [xml, fallback, key] of [
    [inRoot(value), 'dc', 'dc.date.end'],
    [inRoot(value), 'local', 'local.date.end'],
    [inRoot(value, ' schema="local"'), 'dc', 'local.date.end'],
    [`<?xml version="1.0" encoding="utf-8"?>\n${inRoot(value)}\n`, 'dc', 'dc.date.end'],
  ] as const)
    assert.equal(parseMetadata(xml, fallback)[0]?.key, key, xml)
})

test('XML that is not well-formed, or contains more than metadata, is refused', () => {
  for (const [xml, message] of [
    ['', /not well-formed|no element/],
    ['text', /not well-formed|no element/],
    [inRoot('<dcvalue element="title">A'), /not well-formed/],
    [inRoot('<dcvalue element="title">A & B</dcvalue>'), /not well-formed/],
    [inRoot('<dcvalue element=title>A</dcvalue>'), /not well-formed/],
    [
      inRoot('<dcvalue element="title">&nbsp;</dcvalue>'),
      /&nbsp; is known in HTML, not in XML; write &#160; \(a space that doesn’t break\), or a plain space$/,
    ],
    [inRoot('<dcvalue element="title">M&uuml;ller</dcvalue>'), /&uuml; is known .*; write ü \(&#252;\)$/],
    [
      inRoot('<dcvalue element="title">&alpha;</dcvalue>'),
      /&alpha; is known .*; write the character itself$/,
    ],

    [`<!DOCTYPE dublin_core>${inRoot('')}`, /document type/],
    [
      `<!DOCTYPE dublin_core [<!ENTITY x SYSTEM "file:///etc/passwd">]>${inRoot('<dcvalue element="title">&x;</dcvalue>')}`,
      /not well-formed|document type/,
    ],
    ['<?xml version="1.0" encoding="ISO-8859-1"?><dublin_core/>', /ISO-8859-1; convert it to UTF-8/],
    [`<dublin_core>${'<![CDATA['.repeat(100_000)}</dublin_core>`, /<!\[CDATA\[ is not closed by \]\]>/],
    [`<dublin_core>${'<a xmlns:b="c">'.repeat(30_000)}`, /declares more than 100 namespaces/],
    // A reader that takes the text in the instruction or attribute for a comment misses the declaration.
    [`<?x <!-- ?><!DOCTYPE dublin_core><?y --> ?>${inRoot('')}`, /document type/],
    [`<?x <!-- ?><!DOCTYPE a [<!ENTITY b "c">]><?y --> ?>${inRoot('')}`, /document type/],
    [inRoot('<!DOCTYPE a>', ' b="<!--"').replace('</', '<x y="-->"/></'), /not well-formed/],
    [`<?x <![CDATA[ ?><!DOCTYPE dublin_core><?y ]]> ?>${inRoot('')}`, /document type/],
    ['<?x', /<\? is not closed by \?>/],
    [inRoot('</a>'), /not well-formed.*<\/a> does not match a start tag/],
    [inRoot('<dcvalue element="title">A</b></dcvalue>'), /not well-formed.*<\/b> does not match a start tag/],
    [`${inRoot('')}</a>`, /not well-formed/],
    [inRoot('<a>'.repeat(2_000) + '</a>'.repeat(2_000)), /nested more than 1000 deep/],
    ['<metadata/>', /<metadata>, not <dublin_core>/],
    [inRoot('<title>A</title>'), /<dublin_core> contains <title>/],
    [inRoot('<dcvalue element="title">A <i>b</i></dcvalue>'), /<dcvalue> contains <i>/],
    [inRoot('<dcvalue>A</dcvalue>'), /"dc\." is not a metadata field/],
    [inRoot('<dcvalue element="ti tle">A</dcvalue>'), /is not a metadata field/],
    [inRoot('<dcvalue element="title" qualifier="a.b">A</dcvalue>'), /is not a metadata field/],
    [inRoot('<dcvalue element="title">A</dcvalue>', ' schema="d c"'), /is not a metadata field/],
  ] as [string, RegExp][])
    assert.throws(
      () => parseMetadata(xml, 'dc'),
      error => error instanceof BadItem && message.test(error.message) && !error.message.includes('\n'),
      xml.slice(0, 100),
    )
})

test('values keep their order and lose the white space around them; empty ones are skipped', () => {
  const metadata = createMetadata()
  metadata.add('dc.title', { value: '\n  One\n two ', language: 'en' })
  metadata.add('dc.type', { value: ' \n', language: null })
  metadata.add('dc.title', { value: 'Zwei', language: '' })
  assert.deepEqual(metadata.all, {
    'dc.title': [
      { value: 'One\n two', language: 'en' },
      { value: 'Zwei', language: null },
    ],
  })
})

test('metadata is at most 1 MB as JSON, and refused as soon as it is larger', () => {
  const metadata = createMetadata()
  let added = 0
  assert.throws(
    () => {
      for (; added < 100; added++)
        metadata.add(`dc.a${added % 3}`, { value: 'é"'.repeat(10_000), language: null })
    },
    error => error instanceof BadItem && /larger than 1 MB/.test(error.message),
  )
  // Each value has 40,000 bytes, with JSON around it.
  assert.equal(added, 26)
  const bytes = Buffer.byteLength(JSON.stringify(metadata.all))
  assert.ok(bytes <= 1024 * 1024 && bytes > 1_040_000, `${bytes}`)
})

test('a key has two or three parts', () => {
  for (const key of ['dc.title', 'dc.contributor.author', 'local-x.my_field.A1']) assert.ok(isKey(key), key)
  for (const key of [
    'dc',
    'dc.',
    '.title',
    'dc.a.b.c',
    'dc.ti tle',
    'dc.ä',
    '__proto__',
    `dc.${'x'.repeat(65)}`,
  ])
    assert.ok(!isKey(key), key)
})
