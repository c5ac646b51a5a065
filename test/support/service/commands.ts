import assert from 'node:assert/strict'
import type { Finished } from './process.ts'

/** Asserts that a command succeeded without a warning. @returns its output */
export function assertDone({ code, stdout, stderr }: Finished): string {
  assert.equal(code, 0, stdout + stderr)
  assert.equal(stderr, '')
  return stdout
}

/** Asserts one line on standard error, and nothing on standard output (D1). */
export function assertRefused({ code, stdout, stderr }: Finished, expected: 1 | 2, says: RegExp): string {
  assert.equal(code, expected, stdout + stderr)
  assert.equal(stdout, '')
  assert.match(stderr, /^carrel: [^\n]+\n$/, 'one line')
  assert.match(stderr, says)
  assert.doesNotMatch(stderr, /\.ts:\d|node:internal/, 'no stack')
  return stderr
}

/** Runs work for all values, two at a time, because a command takes half a second. */
export async function each<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const rest = all.values()
  const worker = async () => {
    for (const one of rest) await work(one)
  }
  await Promise.all([worker(), worker()])
}
