import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInChild } from '../../../src/lib/threads/child.ts'
import { until } from '../../support/service/waiting.ts'

/** Counts the running processes that this one has started. */
const children = () => process.getActiveResourcesInfo().filter(name => name === 'ProcessWrap').length

test('work that can’t be sent to a process of its own fails, and leaves no process that waits for it', async () => {
  const before = children()
  let job: unknown = 1
  for (let level = 0; level < 50_000; level++) job = [job]
  const running = { signal: new AbortController().signal, progress: () => {} }
  const work = runInChild({ program: 'question-process', job, name: 'the answer' }, running)
  assert.ok(children() > before)
  await assert.rejects(work, RangeError)
  await until('the end of the process', children, count => count <= before)
})
