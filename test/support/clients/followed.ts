import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from '../service/process.ts'
import type { Service } from '../service/service.ts'
import { assertShown, type Example, examplesIn, follow } from './document.ts'

/** What a reader does at a block, besides running it as it stands. */
export interface Step {
  /** In the text of the block. */
  readonly at: string
  readonly before?: string
  /** What a reader writes in place of what stands there. */
  readonly instead?: readonly (readonly [shown: string, given: string])[]
  /** With what it ends, where the document shows how something is refused. */
  readonly exit?: number
  /**
   * Commands that stand for a block that is no command itself: a file, whose path is `$BLOCK`, or an output, which they must
   * have.
   */
  readonly by?: string
  /** A block that isn't run here: the test that does, which reads the document. */
  readonly elsewhere?: string
  /** A block that no test runs: what it would need. */
  readonly needs?: string
}

/** A document that is followed from the top to the end, in one shell. */
export interface Followed {
  readonly path: string
  readonly steps?: readonly Step[]
  /** Shell commands that come first, such as functions in place of programs. */
  readonly before?: string
  /** Folders and files of the document, and where they are in the folder of the test. */
  readonly places?: Readonly<Record<string, string>>
  /** How many blocks are run at least. */
  readonly least: number
}

type Run = Pick<Example, 'text' | 'place' | 'answer'>

/**
 * Runs every block, and compares every output that is shown with what came.
 * @returns the outputs
 * @throws AssertionError also where a block is neither run nor shown, and no step says why
 */
export async function followDocument(
  service: Service,
  document: Followed,
  folder: string,
): Promise<readonly string[]> {
  const { path, steps = [], before = '', places = {}, least } = document
  const examples = examplesIn(path)
  for (const { at } of steps)
    assert.equal(examples.filter(({ text }) => text.includes(at)).length, 1, `${path}: ${at}`)
  mkdirSync(join(folder, 'blocks'), { recursive: true })
  const there = (text: string) => swap(text, Object.entries(places), folder)
  const runs = examples.flatMap((example, at): readonly Run[] => {
    const step = steps.find(one => example.text.includes(one.at))
    if (step?.needs !== undefined) return []
    if (step?.elsewhere !== undefined) {
      assert.ok(readsIt(step.elsewhere, path), `${example.place}: ${step.elsewhere}`)
      return []
    }
    const file = join(folder, 'blocks', `${at}`)
    writeFileSync(file, there(example.text))
    return [asRun(example, step, file, there)]
  })
  assert.ok(runs.length >= least, `${runs.length} blocks`)
  const given = await follow(service, runs, { folder, before, isStrict: true })
  for (const [at, one] of runs.entries())
    assertShown(one, swapBack(given[at] ?? '', Object.entries(places), folder))
  return given
}

function asRun(example: Example, step: Step | undefined, file: string, there: (text: string) => string): Run {
  const { language, place } = example
  if (step?.by !== undefined) {
    const text = `BLOCK=${file}\n${withOutput(step.by, step.exit)}`
    return { place, text, answer: language === '' ? example : null }
  }
  assert.equal(language, 'sh', `${place} is run by no test`)
  let { text } = example
  for (const [shown, given] of step?.instead ?? []) {
    assert.ok(text.includes(shown), `${place}: ${shown}`)
    text = text.replaceAll(shown, () => given)
  }
  const { answer } = example
  text = there(text)
  if (answer?.language === '' || step?.exit !== undefined) text = withOutput(text, step?.exit)
  return { place, answer, text: `${step?.before ?? ''}\n${text}` }
}

/** What a terminal shows: both outputs. */
const withOutput = (text: string, exit = 0) =>
  exit === 0
    ? `{ ${text}\n} 2>&1`
    : `ended=0; { ${text}\n} 2>&1 || ended=$?; test $ended = ${exit} || { echo "ended with $ended"; exit 1; }`

const swap = (text: string, places: readonly (readonly [string, string])[], folder: string) =>
  places.reduce((one, [shown, place]) => one.replaceAll(shown, () => join(folder, place)), text)

const swapBack = (text: string, places: readonly (readonly [string, string])[], folder: string) =>
  places.reduce((one, [shown, place]) => one.replaceAll(join(folder, place), () => shown), text)

/** The test of another suite opens the document, by its path or its name. */
function readsIt(test: string, path: string): boolean {
  const file = join(repository, test)
  if (!existsSync(file)) return false
  const name = path.replace(/^docs\//, '')
  return readFileSync(file, 'utf8').includes(name)
}
