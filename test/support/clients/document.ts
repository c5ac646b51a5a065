import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { withCommandLine } from '../service/command-line.ts'
import { storeSettings } from '../service/engines.ts'
import { environmentWithNode, repository, run } from '../service/process.ts'
import type { Service } from '../service/service.ts'

/** A document as a reader follows it: what it asks, and what it shows as the answer. */
export interface Example {
  /** Empty: none is named. Then it is what a terminal shows. */
  readonly language: string
  readonly text: string
  /** Where it begins, such as `docs/tutorial.md:20`. */
  readonly place: string
  /** The block right below; null: none. */
  readonly answer: { readonly language: string; readonly text: string } | null
}

/** Where documents say that the service is. Services of these tests say the same in links and problems. */
export const shownAddress = 'http://localhost:8080'

/** Languages of what commands write. */
const outputs = ['', 'json', 'xml', 'csv', 'http']

/** @param path such as `docs/tutorial.md` */
export function examplesIn(path: string): readonly Example[] {
  const text = readFileSync(join(repository, path), 'utf8')
  const blocks = [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^\1```$/gm)].map(
    ({ 0: all, 1: indent = '', 2: language = '', 3: inside = '', index }) => ({
      language,
      text: inside.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      start: index,
      end: index + all.length,
    }),
  )
  const answers = new Set<number>()
  return blocks.flatMap(({ language, text: asked, start, end }) => {
    if (answers.has(start)) return []
    const below = blocks.find(other => other.start === end + 1)
    const answer =
      below && (language === 'sh' || language === 'pql') && outputs.includes(below.language) ? below : null
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
of_checkout() { command carrel "$@"; }
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
  examples: readonly Pick<Example, 'text' | 'place'>[],
  { folder, before = '', isStrict = false }: Following,
): Promise<readonly string[]> {
  const commands = examples.map(
    ({ text }) =>
      `${isStrict ? text : text.replaceAll(shownAddress, service.address)}\nprintf '\\n%s\\n' '${mark}'\n`,
  )
  const shell = programs + (isStrict ? strictCurl(service) : '') + before + commands.join('')
  const settings = environmentWithNode(await storeSettings(service.dataFolder))
  const { code, stdout, stderr } = await withCommandLine(bin =>
    run('bash', ['-eu', '-o', 'pipefail', '-c', shell], {
      env: { ...settings, PATH: `${bin}${delimiter}${settings.PATH}` },
      cwd: folder,
    }),
  )
  const outputs = stdout.split(`\n${mark}\n`)
  assert.equal(code, 0, `${examples[outputs.length - 1]?.place} failed:\n${stderr}${outputs.at(-1)}`)
  return outputs.slice(0, -1)
}

/**
 * Compares what is shown with what came. Members of JSON have the same order; of one object, such as a problem, only those that are
 * shown count. Of the output of a command, times, ids, hashes and sizes are others each time.
 * @throws AssertionError
 */
export function assertShown({ answer, place }: Pick<Example, 'answer' | 'place'>, given: string): void {
  if (answer === null) return
  if (answer.language === '') {
    assert.equal(lasting(given), lasting(answer.text), place)
    return
  }
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

const varying: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d[.-]\d{3}Z/g, '<time>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uuid>'],
  [/\b[0-9a-f]{2}\/[0-9a-f]{2}\/[0-9a-f]{64}\b/g, '<path>'],
  [/\b[0-9a-f]{64}\b/g, '<sha256>'],
  [/\b\d+\.\d s\b/g, '<seconds>'],
  [/\b\d+ bytes instead of \d+\b/g, '<sizes>'],
]

const lasting = (text: string) =>
  varying.reduce((one, [pattern, name]) => one.replaceAll(pattern, name), text).trim()

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function only(value: unknown, names: readonly string[]): unknown {
  if (!isObject(value)) return value
  const members = new Map(Object.entries(value))
  return Object.fromEntries(names.map(name => [name, members.get(name)]))
}
