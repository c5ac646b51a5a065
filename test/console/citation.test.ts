import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asBibtex, asCslJson, asText, type Cited } from '../../console/src/pages/items/citation.ts'

const cited = (changes: object, metadata: Record<string, readonly string[]> = {}): Cited => ({
  item: {
    uuid: '11111111-2222-4333-8444-555555555555',
    identifier: 'archive/1',
    title: 'A Letter to Zoë',
    authors: ['Câmara, Bertha', 'Abel'],
    issued: '1790-03',
    type: 'Letter',
    metadata: Object.fromEntries(
      Object.entries(metadata).map(([field, values]) => [
        field,
        values.map(value => ({ value, language: null })),
      ]),
    ),
    withdrawn: false,
    discoverable: true,
    ...changes,
  },
  repository: 'Rare Books',
  address: 'https://example.org/console/items/1',
})

test('CO14 a citation names authors, year, title, publisher and address', () => {
  const one = cited({}, { 'dc.publisher': ['Press'], 'dc.identifier.uri': ['https://hdl.handle.net/1/2'] })
  assert.equal(
    asText(one),
    'Câmara, Bertha; Abel (1790). A Letter to Zoë. Press. Rare Books. https://hdl.handle.net/1/2',
  )
  assert.equal(
    asBibtex(one),
    `@misc{Camara1790letter,
  author = {Câmara, Bertha and Abel},
  title = {{A Letter to Zoë}},
  year = {1790},
  month = {3},
  publisher = {Press},
  url = {https://hdl.handle.net/1/2}
}`,
  )
  assert.deepEqual(JSON.parse(asCslJson(one)), [
    {
      id: '11111111-2222-4333-8444-555555555555',
      type: 'manuscript',
      title: 'A Letter to Zoë',
      author: [{ family: 'Câmara', given: 'Bertha' }, { literal: 'Abel' }],
      issued: { 'date-parts': [[1790, 3]] },
      publisher: 'Press',
      archive: 'Rare Books',
      URL: 'https://hdl.handle.net/1/2',
    },
  ])
})

test('CO14 nothing in a title can end its field, or add another entry to the citation', () => {
  const one = cited(
    {
      title: 'a}},\n}\n@misc{evil, title = {100% \\input{x} $y$ & #1_2 ~^',
      authors: ['Smith and Sons, Ltd, Inc', '}{', ''],
      issued: 'c. 1790} ',
      type: 'Book',
    },
    {
      'dc.identifier.uri': ['javascript:alert(1)', 'https://example.org/{a}'],
      'dc.identifier.doi': ['10.1/a_b}'],
    },
  )
  const bibtex = asBibtex(one)
  assert.equal(bibtex.match(/^@/gm)?.length, 1)
  // Without what is escaped, braces are balanced, and close only at the end.
  let depth = 0
  for (const [at, character] of [...bibtex.replaceAll(/\\[{}]/g, '')].entries()) {
    if (character === '{') depth++
    if (character === '}') depth--
    assert.ok(depth > 0 || at < 6 || at === bibtex.replaceAll(/\\[{}]/g, '').length - 1, bibtex)
  }
  assert.equal(depth, 0)
  assert.match(bibtex, /100\\% \\textbackslash\{\}input\\\{x\\\} \\\$y\\\$ \\& \\#1\\_2/)
  assert.match(bibtex, /author = \{\{Smith and Sons, Ltd, Inc\} and \\\}\\\{\}/)
  assert.match(bibtex, /url = \{https:\/\/example\.org\/%7Ba%7D\}/)
  assert.doesNotMatch(bibtex, /year|javascript/)
  const [csl] = JSON.parse(asCslJson(one)) as [Record<string, unknown>]
  assert.equal(csl.issued, undefined)
  assert.equal(csl.DOI, '10.1/a_b}')
  assert.equal(
    asText(cited({ title: null, authors: [], issued: null })),
    'archive/1. Rare Books. https://example.org/console/items/1',
  )
})

test('CO14 a DOI leads to one address, however it is written, and without one the citation has another', () => {
  const addressFor = (doi: string) => {
    const [csl] = JSON.parse(asCslJson(cited({}, { 'dc.identifier.doi': [doi] })))
    return [csl.DOI, csl.URL]
  }
  const doi = '10.1002/(SICI)1097-4571<1::AID>3.0;2#T'
  const address = 'https://doi.org/10.1002/(SICI)1097-4571%3C1%3A%3AAID%3E3.0%3B2%23T'
  for (const text of [doi, `doi: ${doi}`, address, address.replaceAll('(', '%28').replace('doi', 'dx.doi')])
    assert.deepEqual(addressFor(text), [doi, address], text)
  // Outside of an address, a percent sign is one.
  assert.deepEqual(addressFor('10.1002/a%28'), ['10.1002/a%28', 'https://doi.org/10.1002/a%2528'])
  assert.deepEqual(addressFor('https://doi.org/10.1002/100%'), [
    '10.1002/100%',
    'https://doi.org/10.1002/100%25',
  ])
  for (const none of ['doi:', 'https://doi.org/', 'https://doi.org/10.1002/a%20b'])
    assert.equal(addressFor(none)[1], 'https://example.org/console/items/1', none)
})
