import { dirname, extname, join } from 'node:path'
import { Readable, Writable } from 'node:stream'

/**
 * A run of a `carrel` command. This process runs one command after another, so that the cost of starting it
 * is paid once. Each run has its own arguments, environment, standard streams and exit code.
 */
export interface CommandRun {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly input: string | Uint8Array
  readonly cwd: string
}

export interface CommandResult {
  readonly code: number
  /** Bytes, because backups are binary. */
  readonly stdout: Uint8Array
  readonly stderr: Uint8Array
  /** Both outputs, as a terminal shows them. */
  readonly both: Uint8Array
}

/** The program of the command line, as a process of its own would be started with it. */
const [, , entry = ''] = process.argv
const { main } = (await import(
  join(dirname(entry), `main${extname(entry)}`)
)) as typeof import('../../../src/cli/main.ts')
/** Events whose listeners, if a command added them, are removed after it. */
const events = ['SIGINT', 'SIGTERM', 'exit', 'beforeExit'] as const
const ownListeners = new Map(events.map(name => [name, process.listeners(name as 'exit')]))

async function runCommand({ args, env, input, cwd }: CommandRun): Promise<CommandResult> {
  process.chdir(cwd)
  for (const key of Object.keys(process.env)) delete process.env[key]
  Object.assign(process.env, env)
  process.argv.splice(1, Number.POSITIVE_INFINITY, entry, ...args)
  process.exitCode = undefined
  const both: Buffer[] = []
  const [stdout, stderr] = [capture(both), capture(both)]
  const streams = { stdin: readableOf(input), stdout: stdout.stream, stderr: stderr.stream }
  for (const [name, value] of Object.entries(streams))
    Object.defineProperty(process, name, { value, configurable: true })
  try {
    await main()
    return {
      code: Number(process.exitCode ?? 0),
      stdout: stdout.bytes(),
      stderr: stderr.bytes(),
      both: Buffer.concat(both),
    }
  } finally {
    process.exitCode = undefined
    for (const name of events)
      for (const listener of process.listeners(name as 'exit'))
        if (!ownListeners.get(name)?.includes(listener)) process.removeListener(name, listener)
  }
}

function readableOf(input: string | Uint8Array): Readable {
  const stream = new Readable({ read() {} })
  if (input.length > 0) stream.push(input)
  stream.push(null)
  return stream
}

function capture(both: Buffer[]) {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk)
      both.push(chunk)
      done()
    },
  })
  return { stream, bytes: () => Buffer.concat(chunks) }
}

process.on('message', async (run: CommandRun) => {
  const result = await runCommand(run).catch(error => ({
    code: 1,
    stdout: Buffer.of(),
    stderr: Buffer.from(String(error?.stack)),
    both: Buffer.from(String(error?.stack)),
  }))
  process.send?.(result)
})
process.on('disconnect', () => process.exit())
