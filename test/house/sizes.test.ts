import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Ceilings, ceilingsFile, measure, numbersOf } from '../../scripts/sizes.ts'

/**
 * How far a number may be below its ceiling before the ceiling must follow. Single lines and words come and go; a file, a long
 * function or an export doesn't.
 */
const slack: Readonly<Record<string, number>> = { lines: 100, largestRoom: 100, words: 300 }

const ceilings = JSON.parse(readFileSync(ceilingsFile, 'utf8')) as Ceilings
const sizes = measure()
const now = numbersOf(sizes)

for (const [room, numbers] of Object.entries(ceilings))
  for (const [name, ceiling] of Object.entries(numbers))
    test(`the ${name} of ${room} only fall`, () => {
      const value = now[room]?.[name] ?? Number.NaN
      assert.ok(
        value <= ceiling,
        `${value} is more than ${ceiling}: take something out, or raise the ceiling in test/house/sizes.json and say in the commit what went for it and why the rest is needed (\`npm run sizes\` lists what counts)`,
      )
      assert.ok(
        value >= ceiling - (slack[name] ?? 0),
        `${value} is less than ${ceiling}: keep it so with \`npm run sizes -- --lower\``,
      )
    })

test('every export has an importer', () => {
  assert.deepEqual(sizes.unused, [])
})
