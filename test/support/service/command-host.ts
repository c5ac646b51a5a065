import { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { main } from '../../../src/cli/main.ts'

/**
 * A process that runs one `carrel` command after the other: what a real one spends on starting is spent once. Each run
 * has its own arguments, environment, standard streams and exit code.
 */
export interface CommandRun {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly input: string | Uint8Array
}

export interface CommandResult {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const entry = fileURLToPath(new URL('../../../src/cli/carrel.ts', import.meta.url))
/** Those of a command end with its process. */
const events = ['SIGINT', 'SIGTERM', 'exit', 'beforeExit'] as const
const ownListeners = new Map(events.map(name => [name, process.listeners(name as 'exit')]))

async function runCommand({ args, env, input }: CommandRun): Promise<CommandResult> {
  for (const key of Object.keys(process.env)) delete process.env[key]
  Object.assign(process.env, env)
  process.argv.splice(1, Number.POSITIVE_INFINITY, entry, ...args)
  process.exitCode = undefined
  const [stdout, stderr] = [capture(), capture()]
  const streams = { stdin: readableOf(input), stdout: stdout.stream, stderr: stderr.stream }
  for (const [name, value] of Object.entries(streams))
    Object.defineProperty(process, name, { value, configurable: true })
  try {
    await main()
    return { code: Number(process.exitCode ?? 0), stdout: stdout.text(), stderr: stderr.text() }
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

function capture() {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk)
      done()
    },
  })
  return { stream, text: () => Buffer.concat(chunks).toString() }
}

process.on('message', async (run: CommandRun) => {
  const result = await runCommand(run).catch(error => ({ code: 1, stdout: '', stderr: String(error?.stack) }))
  process.send?.(result)
})
process.on('disconnect', () => process.exit())
