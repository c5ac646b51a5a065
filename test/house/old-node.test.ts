import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { cleanEnvironment, repository, run } from '../support/service/process.ts'

const entry = join(repository, 'src/cli/carrel.ts')
const { engines } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
  engines: { node: string }
}
const oldest = /^>=([\d.]+)$/.exec(engines.node)?.[1] ?? ''

/** Runs the entry on this Node, which pretends to be of another version. */
const runAs = (version: string) => {
  const pretend = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`
  const preload = `data:text/javascript,${encodeURIComponent(pretend)}`
  return run(process.execPath, ['--import', preload, entry, '--version'], { env: cleanEnvironment() })
}

test('D1 a Node older than engines in package.json is told so in one line, with exit code 1', async () => {
  for (const old of ['18.0.0', '20.11.1', '23.11.0', '24.6.9'])
    assert.deepEqual(await runAs(old), {
      code: 1,
      stdout: '',
      stderr: `carrel: Carrel needs Node ${oldest} or newer; this is ${old}\n`,
    })
  for (const fine of [`${oldest}.0`, '25.0.0', '26.1.0']) assert.equal((await runAs(fine)).code, 0, fine)
})

test('an old Node loads nothing but the entry before it is told', () => {
  const source = readFileSync(entry, 'utf8')
  assert.doesNotMatch(source, /^\s*(import\s[^(]|export\s.*\sfrom\s)/m, 'no static imports')
  assert.match(source, /\} else \{\n {2}const \{ main \} = await import\('\.\/main\.ts'\)/)
})
