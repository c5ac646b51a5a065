import { Readable } from 'node:stream'

/**
 * A process that runs one `carrel` command after the other: what a real one spends on starting is spent once. Each run
 * has its own arguments, environment, standard streams and exit code, and evaluates the entry file afresh.
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

const entry = new URL('../../../src/cli/carrel.ts', import.meta.url)
const ownErrorListeners = [process.stdout, process.stderr].map(stream => stream.listeners('error'))
const ownListeners = new Map(process.eventNames().map(name => [name, process.listeners(name as 'exit')]))
let runs = 0

async function runCommand({ args, env, input }: CommandRun): Promise<CommandResult> {
  for (const key of Object.keys(process.env)) delete process.env[key]
  Object.assign(process.env, env)
  process.argv.splice(1, Number.POSITIVE_INFINITY, entry.pathname, ...args)
  process.exitCode = undefined
  const stdin = new Readable({ read() {} })
  if (input.length > 0) stdin.push(input)
  stdin.push(null)
  Object.defineProperty(process, 'stdin', { value: stdin, configurable: true })
  const stdout = capture(process.stdout)
  const stderr = capture(process.stderr)
  try {
    // Another query makes another module of the entry file; what it imports is loaded once.
    await import(`${entry.href}?run=${runs++}`)
    return { code: Number(process.exitCode ?? 0), stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    stdout.end()
    stderr.end()
    process.exitCode = undefined
    forgetListeners()
  }
}

/** What is written goes here instead, until `end`. */
function capture(stream: NodeJS.WriteStream) {
  const chunks: Buffer[] = []
  const write = stream.write
  stream.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    chunks.push(Buffer.from(chunk))
    const done = rest.findLast(one => typeof one === 'function')
    if (done) process.nextTick(done)
    return true
  }
  return {
    text: () => Buffer.concat(chunks).toString(),
    end: () => {
      stream.write = write
    },
  }
}

/** What a command listens to ends with its process: signals, and errors of its standard streams. */
function forgetListeners(): void {
  for (const [at, stream] of [process.stdout, process.stderr].entries())
    for (const listener of stream.listeners('error'))
      if (!ownErrorListeners[at]?.includes(listener)) stream.removeListener('error', listener as () => void)
  for (const name of ['SIGINT', 'SIGTERM', 'exit', 'beforeExit'] as const)
    for (const listener of process.listeners(name as 'exit'))
      if (!ownListeners.get(name)?.includes(listener)) process.removeListener(name, listener)
}

process.on('message', async (run: CommandRun) => {
  const result = await runCommand(run).catch(error => ({ code: 1, stdout: '', stderr: String(error?.stack) }))
  process.send?.(result)
})
process.on('disconnect', () => process.exit())
