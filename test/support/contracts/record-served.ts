import { appendFileSync, openSync } from 'node:fs'
import { type Answered, recordAnswers } from './record-answers.ts'

/**
 * Loaded by `--require` into each thread of a service that runs as a process of its own. Records its answers
 * in a file.
 */
const file = process.env.RECORDED_ANSWERS
/** Maximum number of similar answers recorded, for tests that send thousands of similar requests. */
const maxAlike = 20
const alike = new Map<string, number>()

// Opened at once: a service may have no descriptors left when it answers.
const descriptor = file === undefined ? undefined : openSync(file, 'a')

if (descriptor !== undefined)
  recordAnswers(() => answered => {
    const kind = `${answered.method} ${answered.route ?? answered.path.slice(0, 100)} ${answered.status}`
    const count = alike.get(kind) ?? 0
    alike.set(kind, count + 1)
    if (count >= maxAlike) return
    const line: Answered = { ...answered, path: answered.path.slice(0, 2_000) }
    appendFileSync(descriptor, `${JSON.stringify(line)}\n`)
  })
