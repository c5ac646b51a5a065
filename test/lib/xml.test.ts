import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseXml } from '../../src/lib/xml.ts'

const reasonOf = (xml: string): string => {
  try {
    parseXml(xml, why => {
      throw new Error(why)
    })
    return 'none'
  } catch (error) {
    return (error as Error).message
  }
}

test('a document type is refused wherever it is, however it is hidden', () => {
  for (const xml of [
    '<!DOCTYPE a><a/>',
    '<!doctype a><a/>',
    '<a><!DOCTYPE a></a>',
    '<a/><!DOCTYPE a>',
    '<!DOCTYPE a [<!ENTITY b "c">]><a/>',
    '<?x <!-- ?><!DOCTYPE a><?y --> ?><a/>',
    '<?x <![CDATA[ ?><!DOCTYPE a><?y ]]> ?><a/>',
    '<!-- <?x --><!DOCTYPE a><a/><!-- ?> -->',
    // The parser ends this instruction too early.
    '<?><!DOCTYPE a><a/><?x ?>',
    '<!ELEMENT a ANY><a/>',
  ])
    assert.match(reasonOf(xml), /document type|root element|closed by/, xml)
  assert.match(reasonOf('<a b="<!--"><!DOCTYPE a><b c="-->"/></a>'), /is not closed by >/)
})

test('every end tag closes the element that was opened last', () => {
  for (const xml of [
    '<a></b></a>',
    '<a></a></a>',
    '</a><a></a>',
    '<a><b></a></b>',
    '<a><b></a>',
    '<a>',
    '<a></A>',
    '<a></a',
    '<a></ a>',
    '<a></a b>',
    '<a></>',
    '<a><b/></b></a>',
    `${'<a>'.repeat(1_001)}${'</a>'.repeat(1_001)}`,
  ])
    assert.notEqual(reasonOf(xml), 'none', xml.slice(0, 50))
})

test('what is well-formed is read as it is', () => {
  for (const xml of [
    '<a/>',
    '<a />',
    '<a></a >',
    '<a\n b="1"\tc=\'>"\'><d:e xmlns:d="urn:x">f</d:e\n></a>',
    '<?xml version="1.0"?>\n<!-- </b> <!DOCTYPE --><a><![CDATA[</b><!DOCTYPE>]]><?x </b> <!-- ?></a>\n<!-- > -->',
    `${'<a>'.repeat(1_000)}${'</a>'.repeat(1_000)}`,
  ])
    assert.equal(reasonOf(xml), 'none', xml.slice(0, 50))
})
