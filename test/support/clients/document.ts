import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { withCommandLine } from '../service/command-line.ts'
import { storeSettings } from '../service/engines.ts'
import { environmentWithNode, repository, run, withoutProgress } from '../service/process.ts'
import type { Service } from '../service/service.ts'

/** A block of a document: commands for the reader, and the answer that it shows. */
export interface Example {
  /** The language of the block; the empty string means terminal output. */
  readonly language: string
  readonly text: string
  /** The place of the block, such as `docs/tutorial.md:20`. */
  readonly place: string
  /** The block right below, which shows the answer; null if there is none. */
  readonly answer: { readonly language: string; readonly text: string } | null
}

/** The address of the service in documents. Services of these tests use it in links and problems, too. */
export const shownAddress = 'http://localhost:8080'

/** Languages of blocks that show an output. */
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
  /** The working directory of the commands. */
  readonly folder: string
  /** Shell commands that run first, such as functions that replace programs. */
  readonly before?: string
  /**
   * True if an answer of 400 or more ends the run. The service is then reached by the address in the
   * document, which its links have, too.
   */
  readonly isStrict?: boolean
}

const mark = '-- end of a block --'

/** Shell functions for the command line, including the form in which documents run it in a checkout. */
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
 * Runs blocks of shell commands one after another in one shell, in which `carrel` uses the service's store.
 *
 * @returns the standard output of each block
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
 * Compares the answer that a document shows with the real one. Members of JSON must be in the same order. Of
 * an object, such as a problem, only the members shown are compared. Times, ids, hashes and sizes in the
 * output of a command may differ.
 *
 * @throws AssertionError
 */
export function assertShown({ answer, place }: Pick<Example, 'answer' | 'place'>, said: string): void {
  if (answer === null) return
  // A command that takes a while writes bars of its progress.
  const given = withoutProgress(said)
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
