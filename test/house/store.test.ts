import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { features } from '../../src/features.ts'
import { ownParts } from '../../src/storage/statements/parts.ts'
import { repository } from '../support/service/process.ts'

/** Reads a file. The store is written once for both engines (docs/decisions/0066). */
const textOf = (path: string) => readFileSync(join(repository, path), 'utf8')

/**
 * Methods that other suites call on both engines: those that run plans, that are measured, and that
 * `verifyTrail` and imports use.
 */
const elsewhere = [
  ...['list', 'explain', 'record', 'sizes', 'pools', 'listings', 'cache', 'countQueues'],
  ...['chained', 'checkpoints', 'heads', 'ranks'],
  // Only engines call these, on behalf of others.
  ...['addAudiences', 'forgetRetired', 'hasOldKept', 'heldChanges', 'heldFrom', 'heldSize', 'heldState'],
  ...['point', 'raise', 'storedVersions', 'trim'],
]

test('each method of the storage is called by a test of the store, on both engines', () => {
  const interfaces = globSync('src/storage/{*,statements/sessions}.ts', { cwd: repository }).flatMap(path =>
    [...textOf(path).matchAll(/^export interface (?:\w+) \{\n([\s\S]*?)^\}/gm)].flatMap(([, body = '']) =>
      [...body.matchAll(/^ {2}(\w+)(?:<\w+>)?\(/gm)].map(([, name = '']) => name),
    ),
  )
  const written = Object.values({ ...ownParts, ...features }).flatMap(({ reads, changes }) =>
    Object.keys({ ...reads, ...changes }),
  )
  const tests = globSync('test/store/*.ts', { cwd: repository }).map(textOf).join('\n')
  const isCalled = (name: string) => new RegExp(`\\b${name}\\(`).test(tests)
  assert.deepEqual(
    [...new Set([...interfaces, ...written])]
      .filter(name => !elsewhere.includes(name) && !isCalled(name))
      .toSorted(),
    [],
  )
})

test('statements are written for one engine only in the files that the decision names', () => {
  const decision = textOf('docs/decisions/storage.md')
  const files = globSync('src/storage/{sqlite,postgres}/*.ts', { cwd: repository })
  const withStatements = files.filter(path =>
    /['"`(]\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH)\b/.test(textOf(path)),
  )
  const unnamed = withStatements.filter(path => !decision.includes(`\`${basename(path)}\``))
  assert.deepEqual(unnamed, [])
})

test('what is recorded, and whether a right applies, goes by the store’s time and not by that of a node', () => {
  const rooms = 'src/{authn,items,model,people,storage/statements}/**/*.ts'
  const own = globSync(rooms, { cwd: repository }).filter(path =>
    /\bDate\.now\b|\bnew Date\(\)/.test(textOf(path)),
  )
  assert.deepEqual(own, ['src/storage/statements/clock.ts'])
})
