import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { repository } from '../support/service/process.ts'

/** The only files besides the storage that may call the store's methods that begin a session. */
const mayBegin = [
  // Checks whom a system-wide alert lets in, and counts the login.
  'src/authn/new-sessions.ts',
  // `carrel token`, which an operator needs while an alert lets only administrators log in.
  'src/cli/token.ts',
]

test('S5 no session begins without the rules for who may log in', () => {
  const files = globSync('src/**/*.ts', { cwd: repository, exclude: ['src/storage/**'] })
  const knowsStore = /from '[./]*storage\/(?:sessions|identities|storage)\.ts'/
  const begins = [
    /\b(?:sessions|identities)\s*(?:\?\.|\.|\[\s*['"`])\s*begin\b/,
    /\{[^{}]*\bbegin\b[^{}]*\}\s*(?::\s*(?:Sessions|Identities)|=\s*[\w.]*(?:sessions|identities))\b/,
    /\b(?:Sessions|Identities|HotSessions)\b[^\n]*'begin'/,
  ]
  const found = files.filter(file => {
    const text = readFileSync(join(repository, file), 'utf8')
    return (
      begins.some(one => one.test(text)) || (knowsStore.test(text) && /(?<!attempts)\.begin\b/.test(text))
    )
  })
  assert.deepEqual(found.toSorted(), mayBegin)
})
