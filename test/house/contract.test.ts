import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { contractPath, type Rule, rulesIn, rulesOfTests } from '../../scripts/contract.ts'
import { repository } from '../support/service/process.ts'

/** Reads a file. Comments, documents and names of tests cite rules of docs/contract.md by their numbers. */
const read = (file: string) => readFileSync(join(repository, file), 'utf8')
const contract = readFileSync(contractPath, 'utf8')
const rules = rulesIn(contract)
const numbers = new Set(rules.map(({ name }) => name))
const tests = rulesOfTests()
const namedByTests = new Set([...tests.values()].flatMap(names => [...names]))

const sources = globSync('{src,test,scripts,bench,packages/*/src,examples}/**/*.ts', {
  cwd: repository,
}).toSorted()
const documents = globSync(['*.md', 'docs/**/*.md', 'packages/*/*.md', 'examples/*.md'], {
  cwd: repository,
}).toSorted()

/** Returns block comments, and line comments that are not part of an address. */
const commentsIn = (source: string) =>
  [...source.matchAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/g)].map(([comment]) => comment)

/** Removes code and targets of links, which cite nothing. */
const proseOf = (document: string) => document.replaceAll(/```[\s\S]*?```|`[^`]*`|\]\([^)]*\)|^\[.*$/gm, ' ')

/** Words that look like the number of a rule. */
const others = new Set(['V8', 'RE2', 'A4', 'MD5'])

/**
 * Returns the cited rules. A number inside a longer word, such as RS256, or in a time, such as
 * 2026-01-31T04:19, doesn't count.
 */
const citationsIn = (text: string) =>
  [...text.matchAll(/(?<![\w%+./-])[A-Z]{1,2}\d{1,2}(?![\w:]|\.\d)/g)]
    .map(([name]) => name)
    .filter(name => !others.has(name))

test('citations are told apart from other words with digits', () => {
  assert.deepEqual(
    citationsIn(
      'T4, (Q6), B1–B4, “X2”: Q8. But SHA-256, UTF-8, S256, HTTP/1.1, X500, MD5, A4, V8, T04:19, %C3',
    ),
    ['T4', 'Q6', 'B1', 'B4', 'X2', 'Q8'],
  )
})

test('every line of the contract that begins with a number is a rule with known marks, and no number is given twice', () => {
  const lines = contract.split('\n').filter(line => /^- \*\*[A-Z]+\d/.test(line))
  assert.deepEqual(
    rules.map(({ text }) => text),
    lines,
  )
  const odd = /\*\*\((?!given\)\*\*|ours\)\*\*|ours, planned\)\*\*)/
  assert.deepEqual(
    lines.map(line => line.replace(/^- \*\*[A-Z]+\d+ /, '**')).filter(line => odd.test(line)),
    [],
  )
  assert.equal(numbers.size, rules.length)
})

test('a rule of ours has at most 120 words: what is longer belongs into the reference', () => {
  const ours = rules.filter(({ text }) => !text.includes('(given)'))
  assert.ok(ours.length > 200, `${ours.length} rules are ours`)
  const long = ours.map(({ name, text }) => [name, text.split(/\s+/).length] as const)
  assert.deepEqual(
    long.filter(([, words]) => words > 120),
    [],
  )
})

test('the rules of a test are found however the test is made', () => {
  // A text that begins with a rule's number is the name of a test, or the message of an assertion.
  const beginnings = /^(?!.*\bassert\b).*?['"`]((?:[A-Z]{1,2}\d{1,2} )+)/gm
  const missed = [...tests].flatMap(([file, names]) =>
    [...read(file).matchAll(beginnings)]
      .flatMap(([, list = '']) => list.trim().split(' '))
      .filter(name => !names.has(name))
      .map(name => [file, name]),
  )
  assert.deepEqual(missed, [])
})

test('every rule that a comment, a document or the name of a test cites is in the contract', () => {
  const cited = [
    ...sources.flatMap(file =>
      commentsIn(read(file)).flatMap(text => citationsIn(text).map(name => [file, name])),
    ),
    ...documents.flatMap(file => citationsIn(proseOf(read(file))).map(name => [file, name])),
    ...[...tests].flatMap(([file, names]) => [...names].map(name => [file, name])),
  ]
  assert.ok(cited.length > 200, `${cited.length} citations were found`)
  assert.deepEqual(
    cited.filter(([, name = '']) => !numbers.has(name)),
    [],
  )
})

test('every section of the contract that a comment cites is there', () => {
  const headings = new Set([...contract.matchAll(/^## (\d+)\. /gm)].map(([, number]) => number))
  const cited = sources.flatMap(file =>
    [...read(file).matchAll(/contract sections? (\d+(?:(?:, | and )\d+)*)/g)].flatMap(([, list = '']) =>
      (list.match(/\d+/g) ?? []).map(number => [file, number] as const),
    ),
  )
  assert.ok(cited.length > 0)
  assert.deepEqual(
    cited.filter(([, number]) => !headings.has(number)),
    [],
  )
})

test('every rule that is built is named by a test', () => {
  const missing = rules.filter(({ name, planned }) => planned !== 'all' && !namedByTests.has(name))
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
  )
})

test('a rule that a test names is not marked planned as a whole', () => {
  const built = rules.filter(({ name, planned }) => planned === 'all' && namedByTests.has(name))
  assert.deepEqual(
    built.map(({ name }) => `${name}: a test names it; remove the mark "planned" from what is built`),
    [],
  )
})

/**
 * True if the reference may contain a word of a rule: if the rule is built in part, or if it only names a
 * command or a setting to be changed.
 */
const comesWith = ({ planned }: Rule, word: string) =>
  planned === 'part' || /^(carrel |--|CARREL_)/.test(word)

test('nothing that the contract marks planned is a command, option or setting of the reference', () => {
  const reference = documents
    .filter(file => /^docs\/reference\/(commands|settings)\.md$/.test(file))
    .map(read)
    .join('\n')
  const early = rules.flatMap(rule =>
    [...rule.text.matchAll(/\(ours, planned\)\*\*(.*?)(?=\*\*\(|$)/g)].flatMap(([, part = '']) =>
      [...part.matchAll(/`([^`]+)`/g)]
        .map(([, word = '']) => word)
        .filter(word => comesWith(rule, word) && reference.includes(word))
        .map(word => `${rule.name}: ${word} is in docs/reference; remove the mark "planned"`),
    ),
  )
  assert.deepEqual(early, [])
})
