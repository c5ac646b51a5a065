import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { findings, saidIn } from '../../console/src/i18n/finding-words.ts'
import * as terms from '../../console/src/i18n/terms.ts'
import { words as ofDoctor } from '../../src/cli/doctor/words.ts'
import { problems } from '../../src/http/problems.ts'
import { type Finding, findingsIn } from '../../src/lib/findings.ts'
import { eventNames } from '../../src/model/audit-events.ts'
import { builtInEntities } from '../../src/model/built-in-entities.ts'
import { words as ofSignOn } from '../../src/sso/check/findings.ts'
import { repository } from '../support/service/process.ts'

type Texts = Readonly<Record<string, string | Readonly<Record<string, string>>>>
type Language = Readonly<Record<'everybody' | 'administration', Texts>>
const parts = ['everybody', 'administration'] as const

const files = globSync('console/src/i18n/languages/*.ts', { cwd: repository }).toSorted()
const languages = new Map(
  await Promise.all(
    files.map(
      async file =>
        [
          basename(file, '.ts'),
          (await import(pathToFileURL(join(repository, file)).href)) as Language,
        ] as const,
    ),
  ),
)

const forms = (text: Texts[string] = '') => (typeof text === 'string' ? { other: text } : text)
const places = (text = '') => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place)

test('CO4 every language has every text, with the same values in it, in the plural forms that it has', () => {
  const english = languages.get('en')
  assert.ok(english && languages.size >= 2)
  for (const [code, language] of languages)
    for (const part of parts) {
      assert.deepEqual(Object.keys(language[part]).toSorted(), Object.keys(english[part]).toSorted(), code)
      const { pluralCategories } = new Intl.PluralRules(code).resolvedOptions()
      for (const [key, text] of Object.entries(language[part])) {
        const wanted = places(forms(english[part][key]).other)
        const { other, ...rest } = forms(text)
        assert.deepEqual(new Set(places(other)), new Set(wanted), `${code} ${key}`)
        for (const [form, one] of Object.entries(rest)) {
          assert.ok(
            pluralCategories.some(category => category === form),
            `${code} ${key}: ${form}`,
          )
          assert.ok(
            places(one).every(place => wanted.includes(place)),
            `${code} ${key}: ${form}`,
          )
        }
      }
    }
})

test('CO4 each term of the API has words in every language, which the other texts use', () => {
  const { event, problem, entity } = terms.everybody
  assert.deepEqual(Object.keys(event), eventNames)
  assert.deepEqual(Object.keys(problem), Object.keys(problems))
  assert.deepEqual(Object.keys(entity).toSorted(), builtInEntities.map(({ name }) => name).toSorted())
  const begun = new Set(eventNames.filter(name => name.includes('.')).map(name => name.split('.', 1)[0]))
  assert.deepEqual(Object.keys(terms.administration.topic).toSorted(), [...begun].toSorted())
  for (const kinds of [terms.everybody, terms.administration])
    for (const [kind, table] of Object.entries<terms.WordsByTerm>(kinds))
      for (const [term, words] of Object.entries(table))
        assert.deepEqual(Object.keys(words).toSorted(), [...languages.keys()], `${kind} ${term}`)
  const jargon = /\b(epersons?|bitstreams?|bundles?|entity|entities|Entität(en)?|Bündels?)\b/i
  // An entity ID is what administrators of SAML look for.
  for (const [code, language] of languages)
    for (const part of parts)
      for (const [key, text] of Object.entries(language[part]))
        for (const one of Object.values(forms(text)))
          assert.doesNotMatch(one.replace(/Entity.ID/i, ''), jargon, `${code} ${key}`)
})

/** Codes of findings that the console shows in English, because no other language has words for them yet. */
const inEnglish = new Set([
  ...['bucket-right', 'bucket-wrong', 'bucket-lacks', 'bucket-unavailable', 'metadata-old'],
  ...Object.keys(ofSignOn).filter(one => !one.startsWith('sign-on-')),
])

test('CO4 each finding of the doctor has a code of its own, and words in every language or on the list', t => {
  const codes = [...Object.keys(ofDoctor), ...Object.keys(ofSignOn)]
  assert.deepEqual(codes, [...new Set(codes)])
  for (const [code, words] of Object.entries(findings)) {
    const missing = codes.filter(one => !Object.hasOwn(words, one))
    t.diagnostic(`findings without words in ${code}: ${missing.join(', ')}`)
    assert.deepEqual(missing.toSorted(), [...inEnglish].toSorted(), code)
  }
  assert.deepEqual(['en', ...Object.keys(findings)].toSorted(), [...languages.keys()])
})

test('CO4 a finding is said with its values, and without advice where the service has none', () => {
  const found = findingsIn(ofDoctor)('load')
  const said = (finding: Finding) => saidIn('de', finding)
  assert.deepEqual(said(found.ok('load-right', { processors: 1 })), {
    what: 'Threads, Schlangen und Zwischenspeicher passen zu einem Prozessor',
    advice: null,
  })
  assert.equal(
    said(found.ok('sessions-end', { seconds: 5_400 }))?.what,
    '90 Minuten nach der Anmeldung endet eine Sitzung',
  )
  assert.match(said(found.ok('backup-age', { days: 8 }))?.what ?? '', /vor 8 Tagen$/)
  assert.equal(said(found.ok('backup-age', { days: 8 }))?.advice, null)
  assert.match(said(found.warning('backup-age', { days: 8 }))?.advice ?? '', /^Machen Sie jetzt eine/)
  assert.equal(said({ ...found.ok('schema-current'), code: 'of-a-newer-service' }), undefined)
})

test('CO7 nobody but administrators loads the texts of their pages', () => {
  const dist = join(repository, 'console/dist')
  const page = readFileSync(join(dist, 'index.html'), 'utf8')
  const scripts = [...page.matchAll(/"\.\/(assets\/[^"]+\.js)"/g)].map(([, name = '']) =>
    readFileSync(join(dist, name), 'utf8'),
  )
  const has = (text: string) => scripts.some(script => script.includes(text))
  assert.ok(has(String(languages.get('en')?.everybody['home.title'])))
  assert.ok(!has(String(languages.get('en')?.administration['people.lead'])))
})
