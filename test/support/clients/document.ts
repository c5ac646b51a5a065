import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { storeSettings } from '../service/engines.ts'
import { environmentWithNode, repository, run } from '../service/process.ts'
import type { Service } from '../service/service.ts'

/** A document as a reader follows it: what it asks, and what it shows as the answer. */
export interface Example {
  readonly language: string
  readonly text: string
  /** Where it begins, such as `docs/tutorial.md:20`. */
  readonly place: string
  /** The block right below; null: none. */
  readonly answer: { readonly language: string; readonly text: string } | null
}

/** Where documents say that the service is. Services of these tests say the same in links and problems. */
export const shownAddress = 'http://localhost:8080'

/** @param path such as `docs/tutorial.md` */
export function examplesIn(path: string): readonly Example[] {
  const text = readFileSync(join(repository, path), 'utf8')
  const blocks = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(
    ({ 0: all, 1: language = '', 2: inside = '', index }) => ({
      language,
      text: inside,
      start: index,
      end: index + all.length,
    }),
  )
  const answers = new Set<number>()
  return blocks.flatMap(({ language, text: asked, start, end }) => {
    if (answers.has(start)) return []
    const answer = blocks.find(other => other.start === end + 1) ?? null
    if (answer) answers.add(answer.start)
    return { language, text: asked, place: `${path}:${text.slice(0, start).split('\n').length}`, answer }
  })
}

interface Following {
  /** Where the commands run. */
  readonly folder: string
  /** Shell commands that come first, such as functions in place of programs. */
  readonly before?: string
  /** Whether an answer of 400 or more ends it, and the service is asked by the address that is shown, as its links are. */
  readonly isStrict?: boolean
}

const mark = '-- end of a block --'

/** The command line, and as documents run it in a checkout. */
const programs = `
of_checkout() { node ${repository}src/cli/carrel.ts "$@"; }
carrel() { of_checkout "$@"; }
npm() { test "$1 $2 $3 $4" = 'run --silent carrel --' && shift 4 && of_checkout "$@"; }
`

const strictCurl = ({ address }: Pick<Service, 'address'>) => `
lenient_curl() { command curl --connect-to ${new URL(shownAddress).host}:${new URL(address).host} "$@"; }
curl() { case "$1" in -f*) lenient_curl "$@" ;; *) lenient_curl --fail-with-body "$@" ;; esac; }
`

/**
 * Runs blocks of shell commands one after the other in one shell, where `carrel` is the command line on the service's store.
 * @returns what each wrote to standard output
 * @throws AssertionError at the first command that fails
 */
export async function follow(
  service: Service,
  examples: readonly Example[],
  { folder, before = '', isStrict = false }: Following,
): Promise<readonly string[]> {
  const commands = examples.map(
    ({ text }) =>
      `${isStrict ? text : text.replaceAll(shownAddress, service.address)}\nprintf '\\n%s\\n' '${mark}'\n`,
  )
  const { code, stdout, stderr } = await run(
    'bash',
    [
      '-eu',
      '-o',
      'pipefail',
      '-c',
      programs + (isStrict ? strictCurl(service) : '') + before + commands.join(''),
    ],
    {
      env: environmentWithNode(await storeSettings(service.dataFolder)),
      cwd: folder,
    },
  )
  const outputs = stdout.split(`\n${mark}\n`)
  assert.equal(code, 0, `${examples[outputs.length - 1]?.place} failed:\n${stderr}${outputs.at(-1)}`)
  return outputs.slice(0, -1)
}

/**
 * Compares what is shown with what came. Members of JSON have the same order; of one object, such as a problem, only those that are
 * shown count.
 * @throws AssertionError
 */
export function assertShown(example: Example, given: string): void {
  const { answer, place } = example
  if (answer === null) return
  if (answer.language !== 'json') {
    assert.equal(given.replaceAll('\r', '').trim(), answer.text.trim(), place)
    return
  }
  const shown: unknown = JSON.parse(answer.text)
  const came: unknown = JSON.parse(given)
  assert.equal(
    JSON.stringify(isObject(shown) ? only(came, Object.keys(shown)) : came),
    JSON.stringify(shown),
    place,
  )
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function only(value: unknown, names: readonly string[]): unknown {
  if (!isObject(value)) return value
  const members = new Map(Object.entries(value))
  return Object.fromEntries(names.map(name => [name, members.get(name)]))
}
