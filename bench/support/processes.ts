import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/**
 * Starts real processes to be measured, each on a free port, and reads the operating system's data about
 * them.
 */
const root = fileURLToPath(new URL('../../', import.meta.url))

/** The compiled program as published or, without a build, the sources. */
export const entry: string = existsSync(`${root}dist/cli/carrel.js`)
  ? `${root}dist/cli/carrel.js`
  : `${root}src/cli/carrel.ts`

export interface Running {
  readonly address: string
  readonly pid: number
  stop(): Promise<void>
}

export async function start(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Running> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const address = await firstAddress(child)
  return {
    address,
    pid: child.pid ?? 0,
    stop: () =>
      new Promise(resolve => {
        child.once('exit', () => resolve())
        child.kill('SIGTERM')
      }),
  }
}

const firstAddress = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', chunk => {
      text += chunk
      const address = /http:\/\/[\w.]+:\d+/.exec(text)?.[0]
      if (address) resolve(address.replace('localhost', '127.0.0.1'))
    })
    child.once('exit', code =>
      reject(new Error(`the process exited with code ${code} before it printed its address: ${text}`)),
    )
  })

export const startBare = (bytes: number): Promise<Running> =>
  start([fileURLToPath(new URL('bare.ts', import.meta.url)), String(bytes)], {})

export const startCarrel = (dataFolder: string, env: NodeJS.ProcessEnv = {}): Promise<Running> =>
  start([entry, 'serve'], { CARREL_DATA: dataFolder, CARREL_PORT: '0', ...env })

/** Runs a command of Carrel. @returns its output */
export const carrel = (dataFolder: string, args: readonly string[], input = ''): string =>
  execFileSync(process.execPath, [entry, ...args], {
    env: { ...process.env, CARREL_DATA: dataFolder },
    input,
    stdio: ['pipe', 'pipe', 'pipe'],
    maxBuffer: 1e9,
  }).toString()

/**
 * Returns the processor time of a process in seconds (/proc/<pid>/stat, fields 14 and 15, in hundredths of a
 * second).
 */
export function processorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/**
 * Returns the processor time in seconds of all running threads, to the nanosecond, for short measurements.
 */
export function threadsTime(pid: number): number {
  let sum = 0
  for (const thread of readdirSync(`/proc/${pid}/task`))
    sum += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0])
  return sum / 1e9
}

/** Returns the processor time in seconds of a PostgreSQL server, given its data folder. */
export function serverTime(folder: string): number {
  const [pid] = readFileSync(`${folder}/postmaster.pid`, 'utf8').split('\n')
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')
  return children.reduce((sum, child) => sum + threadsTime(Number(child)), 0)
}

/** Returns the current and the peak resident memory in MB (/proc/<pid>/status). */
export function memory(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const value = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
  return { now: value('VmRSS'), peak: value('VmHWM') }
}
