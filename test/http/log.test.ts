import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { repository } from '../support/service/process.ts'

interface Line {
  readonly msg: string
  readonly level: number
  readonly err?: Error & { readonly cause: Error }
  readonly round?: unknown
}

/** Logs in a process of its own, because the log writes to standard output. @returns its lines */
function linesOf(code: string): readonly Line[] {
  const script = `import { createLog } from '${repository}src/http/log.ts'; const log = createLog('info'); ${code}`
  const args = ['--input-type=module', '--eval', script]
  const output = execFileSync(process.execPath, args, { encoding: 'utf8' })
  return output
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
}

test('D4 the log shows an error with its causes, and of a line that can’t be printed at least the message', () => {
  const lines = linesOf(`
    const cause = new Error('the disk is full')
    log.error(new Error('the page failed', { cause }))
    log.error({ err: new Error('the page failed', { cause }) }, 'a text')
    const round = {}
    round.round = round
    log.warn({ round }, 'in a circle')
  `)
  assert.deepEqual(
    lines.map(({ msg, level, err, round }) => [msg, level, err?.message, err?.cause.message, round]),
    [
      ['the page failed', 50, 'the page failed', 'the disk is full', undefined],
      ['a text', 50, 'the page failed', 'the disk is full', undefined],
      ['in a circle', 40, undefined, undefined, undefined],
    ],
  )
  assert.match(lines[0]?.err?.stack ?? '', /^Error: the page failed\n {4}at /)
})
