import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from '../service/process.ts'
import type { Service } from '../service/service.ts'
import { assertShown, type Example, examplesIn, follow } from './document.ts'

/** Instructions for one block that is not simply run as it stands. */
export interface Step {
  /** A text that identifies the block. */
  readonly at: string
  readonly before?: string
  /** Replacements for parts of the block, which a reader makes too. */
  readonly instead?: readonly (readonly [shown: string, given: string])[]
  /** The exit code, if the document shows a refusal. */
  readonly exit?: number
  /**
   * Commands for a block that is no command itself: either a file, whose path is `$BLOCK`, or the output of
   * these commands.
   */
  readonly by?: string
  /** The test of another suite that runs the block; it must read the document. */
  readonly elsewhere?: string
  /** The requirement that keeps a block from being run by any test. */
  readonly needs?: string
}

/** A document that is followed from beginning to end, in one shell. */
export interface Followed {
  readonly path: string
  readonly steps?: readonly Step[]
  /** Shell commands that run first, such as functions that replace programs. */
  readonly before?: string
  /** Folders and files that the document names, each with its place in the folder of the test. */
  readonly places?: Readonly<Record<string, string>>
  /** Minimum number of blocks that must be run. */
  readonly least: number
}

type Run = Pick<Example, 'text' | 'place' | 'answer'>

/**
 * Runs every block, and compares every output that the document shows with the real one.
 *
 * @returns the outputs
 * @throws AssertionError also if a block is neither run nor shown as an output, and no step says why
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

/** Wraps commands so that both outputs are captured, as a terminal shows them. */
const withOutput = (text: string, exit = 0) =>
  exit === 0
    ? `{ ${text}\n} 2>&1`
    : `ended=0; { ${text}\n} 2>&1 || ended=$?; test $ended = ${exit} || { echo "ended with $ended"; exit 1; }`

const swap = (text: string, places: readonly (readonly [string, string])[], folder: string) =>
  places.reduce((one, [shown, place]) => one.replaceAll(shown, () => join(folder, place)), text)

const swapBack = (text: string, places: readonly (readonly [string, string])[], folder: string) =>
  places.reduce((one, [shown, place]) => one.replaceAll(join(folder, place), () => shown), text)

/** True if the test file of another suite names the document, by its path or its name. */
function readsIt(test: string, path: string): boolean {
  const file = join(repository, test)
  if (!existsSync(file)) return false
  const name = path.replace(/^docs\//, '')
  return readFileSync(file, 'utf8').includes(name)
}
