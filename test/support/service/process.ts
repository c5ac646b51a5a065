import assert from 'node:assert/strict'
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { delimiter, dirname } from 'node:path'
import { after, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { watchServed } from '../contracts/watch-served.ts'
import { atEnd } from './at-end.ts'
import type { CommandResult, CommandRun } from './command-host.ts'
import { storeSettings } from './engines.ts'
import { until, within } from './waiting.ts'

export const repository = fileURLToPath(new URL('../../../', import.meta.url))

/** The folder of the build for a run of tests, separate from the published one. */
export const testBuild = 'dist-of-tests'

/** The command line as `npm start` runs it. */
export const sources = `${repository}src/cli/carrel.ts`

/** The command line: as built for this run, which takes less processor time to start, or else the sources. */
export const entry =
  process.env.CARREL_TEST_BUILD === undefined
    ? sources
    : `${repository}${process.env.CARREL_TEST_BUILD}/cli/carrel.js`

/** Loaded with `--require`, because a thread started from a string doesn't load `--import`. */
const patientDatabase = `--require=${fileURLToPath(new URL('patient-database.ts', import.meta.url))}`

type Settings = Readonly<Record<string, string>>

/**
 * Returns the outer environment without CARREL_*, without variables that the test runner sets for its
 * children, and without proxies. With a database, processes of Carrel get more time for its answers.
 */
export function cleanEnvironment(settings: Settings = {}): Record<string, string> {
  const outer = Object.entries(process.env).filter(
    (pair): pair is [string, string] =>
      pair[1] !== undefined &&
      !/^(CARREL_|NODE_(?!COMPILE_CACHE|EXTRA_CA_CERTS)|npm_)|^(https?|all)_proxy$/i.test(pair[0]),
  )
  return { ...Object.fromEntries(outer), ...settings, ...optionsFor(settings) }
}

const optionsFor = ({ NODE_OPTIONS = '', CARREL_DATABASE_URL }: Settings): Settings =>
  CARREL_DATABASE_URL === undefined ? {} : { NODE_OPTIONS: `${NODE_OPTIONS} ${patientDatabase}` }

/** Returns that environment with the Node that runs the tests first in PATH. */
export const environmentWithNode = (settings: Settings = {}): Record<string, string> => {
  const clean = cleanEnvironment(settings)
  return { ...clean, PATH: `${dirname(process.execPath)}${delimiter}${clean.PATH ?? ''}` }
}

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

interface RunOptions {
  readonly env?: Settings
  readonly input?: string | Uint8Array
  readonly cwd?: string
}

/** Runs a program to its end, with `input` as its standard input. */
export async function run(
  program: string,
  args: readonly string[],
  { env = cleanEnvironment(), input = '', cwd = repository }: RunOptions = {},
): Promise<Finished> {
  const child = spawn(program, args, { env, cwd, stdio: 'pipe' })
  const output = collect(child)
  // A program that ends without reading its input closes the pipe, which is not a failure of the test.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...output }
}

/**
 * Runs `carrel <args>` on the store of a data folder in an existing process, because starting one takes
 * longer than most commands. Tests of the process itself (its memory, its end, or commands that run at the
 * same time) use `carrelProcess`.
 */
export async function carrel(
  dataFolder: string,
  args: readonly string[],
  { env = {}, input = '' }: Omit<RunOptions, 'cwd'> = {},
): Promise<Finished> {
  assert.ok(!('NODE_OPTIONS' in env), 'only a process of its own has options')
  const settings = cleanEnvironment({ ...(await storeSettings(dataFolder)), ...env })
  const { code, stdout, stderr } = await runCommand({ args, env: settings, input, cwd: repository })
  return { code, stdout: Buffer.from(stdout).toString(), stderr: Buffer.from(stderr).toString() }
}

/** Runs any command in such a process, with exactly this environment. */
export async function runCommand(command: CommandRun): Promise<CommandResult> {
  const host = idleHosts.pop() ?? startHost()
  const finished = await runIn(host, command)
  if (host.connected) idleHosts.push(host)
  return finished
}

/** Runs `carrel <args>` as a process of its own. */
export const carrelProcess = async (
  dataFolder: string,
  args: readonly string[],
  { env = {}, ...rest }: RunOptions = {},
): Promise<Finished> =>
  run(process.execPath, [entry, ...args], {
    ...rest,
    env: cleanEnvironment({ ...(await storeSettings(dataFolder)), ...env }),
  })

/** Idle processes that run commands. There are as many as there were commands at the same time. */
const idleHosts: ChildProcess[] = []
const allHosts = new Set<ChildProcess>()

function startHost(): ChildProcess {
  const host = fork(fileURLToPath(new URL('command-host.ts', import.meta.url)), [entry], {
    env: cleanEnvironment(),
    execArgv: [patientDatabase],
    cwd: repository,
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  allHosts.add(host)
  return host
}

async function runIn(host: ChildProcess, command: CommandRun): Promise<CommandResult> {
  const ended = new AbortController()
  try {
    const { signal } = ended
    const answer = once(host, 'message', { signal }).then(([result]) => result as CommandResult)
    const crash = once(host, 'exit', { signal }).then(([code]) => {
      throw new Error(`the process of \`carrel ${command.args.join(' ')}\` ended with ${code}`)
    })
    host.send(command)
    return await Promise.race([answer, crash])
  } finally {
    ended.abort()
  }
}

after(async () => {
  for (const host of allHosts) {
    const ended = host.exitCode === null ? once(host, 'exit') : undefined
    if (host.connected) host.disconnect()
    await ended
  }
})

function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
    })
  return output
}

export interface Served {
  /** The address at which it really listens. */
  readonly address: string
  readonly pid: number
  /** The output so far. */
  readonly output: { readonly stdout: string; readonly stderr: string }
  /** Resolves when standard output or standard error matches, or the process has ended. */
  said(pattern: RegExp): Promise<void>
  /** Resolves when the process has ended and all of its output has been read. */
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  signal(name: NodeJS.Signals): void
  /** Sends SIGTERM and waits. @returns the exit code */
  stop(): Promise<number | null>
}

interface ServeOptions {
  readonly env?: Settings
  /** True keeps the service's own limits for a database that doesn't answer, for tests of these limits. */
  readonly hasRealLimits?: boolean
  readonly args?: readonly string[]
  readonly program?: readonly [string, ...string[]]
  readonly waitsForWorkers?: boolean
}

/** Makes a process treat a stream as a terminal. */
export const asTerminal = (name: 'stdout' | 'stderr') =>
  `data:text/javascript,${encodeURIComponent(`Object.defineProperty(process.${name}, 'isTTY', { value: true })`)}`
/**
 * Starts `carrel serve` on a free port and waits until it answers and all workers run. There is one worker,
 * whatever the number of processors, unless the settings ask for more. The process is gone at the end of the
 * test.
 */
export async function serve(
  t: TestContext,
  dataFolder: string,
  {
    env = {},
    hasRealLimits = false,
    args = [],
    program = [process.execPath, entry],
    waitsForWorkers = Number(env.CARREL_WORKERS) > 1,
  }: ServeOptions = {},
): Promise<Served> {
  const [command, ...first] = program
  const settings: Settings = {
    ...(await storeSettings(dataFolder)),
    CARREL_PORT: '0',
    CARREL_WORKERS: '1',
    CARREL_ALLOWED_HOSTS: 'service.test',
    ...env,
    ...watchServed(t, env),
  }
  const child = spawn(command, [...first, 'serve', ...args], {
    cwd: repository,
    env: {
      ...environmentWithNode(settings),
      ...(hasRealLimits && { NODE_OPTIONS: settings.NODE_OPTIONS ?? '' }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = collect(child)
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
  }))
  atEnd(t, async () => {
    child.kill('SIGKILL')
    await ended
  })
  const listening = /"listening":"([^"]+)".*\n/
  const said = (pattern: RegExp) => {
    const told = new Promise<void>(resolve => {
      const look = () => {
        if (pattern.test(output.stdout) || pattern.test(output.stderr)) resolve()
      }
      child.stdout.on('data', look)
      child.stderr.on('data', look)
      void ended.then(() => resolve())
      look()
    })
    return within(`output that matches ${pattern}`, told, () => output)
  }
  await said(listening)
  const where = listening.exec(output.stdout)?.[1]
  assert.ok(where, `serve did not start:\n${output.stdout}${output.stderr}`)
  if (waitsForWorkers) await untilAllRun(child, `http://${where}`)
  return {
    address: `http://${where}`,
    pid: child.pid ?? 0,
    output,
    said,
    ended,
    signal: name => void child.kill(name),
    stop: async () => {
      child.kill('SIGTERM')
      return (await within('the end after SIGTERM', ended, () => output)).code
    },
  }
}

/** Returns the peak memory of a process so far, in MB. */
export const peakMemory = (pid: number): number =>
  Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

async function untilAllRun(child: ChildProcess, address: string): Promise<void> {
  await until(
    'all workers, or the end of the process',
    async () => {
      if (child.exitCode !== null || child.signalCode !== null) return 'ended'
      return (await fetch(`${address}/health/ready`)).text()
    },
    answer => !answer.includes('workers'),
  )
}

/** Removes the bars of progress, which a command writes if it takes a while (D1). */
export const withoutProgress = (said: string): string => said.replaceAll(/^\S+ \[[=-]+\] +\d+ %\n/gm, '')
