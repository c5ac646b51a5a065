import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { repository } from '../support/service/process.ts'

/** Words that a native-speaking engineer would not write here, in documents, messages, names and comments. */
const quaint = /\b(mend(s|ed|ing)?|cease[sd]?|whoever|whomever|hitherto|therein|turnstile|anew)\b|«|»/i

/** Quotations in which such a word is allowed. */
const quotes: readonly RegExp[] = [
  /Names such as `gone`, `look`, `places` or `turnstile`/,
  /Be Whoever You Want to Be/,
]

test('documents, messages and comments are in plain English', () => {
  const files = globSync(
    [
      '*.md',
      '{docs,examples,packages,console}/**/*.md',
      '{src,test,bench,scripts,tools,packages,examples,console}/**/*.{ts,tsx,js,css,html}',
    ],
    {
      cwd: repository,
      exclude: ['**/node_modules/**', '**/dist/**', 'test/house/english.test.ts'],
    },
  )
  assert.ok(files.length > 300)
  const found = files.flatMap(file =>
    readFileSync(join(repository, file), 'utf8')
      .split('\n')
      .map((line, at) => [`${file}:${at + 1}`, line.trim()] as const)
      .filter(([, line]) => quaint.test(line) && !quotes.some(quote => quote.test(line))),
  )
  assert.deepEqual(found, [])
})
