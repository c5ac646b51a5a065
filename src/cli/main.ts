import { Command, CommanderError } from 'commander'
import { ConfigError } from '../config/file.ts'
import { OperatorError } from '../lib/errors.ts'
import { systemReason } from '../lib/system-errors.ts'
import { version } from '../lib/version.ts'
import { examples } from './examples.ts'
import { Misuse } from './failures.ts'
import { endWithOutput, say } from './output.ts'

/** The command line (D1, D2). Exit code 0: done; 1: it failed; 2: it was called in a wrong way. */
export async function main(): Promise<void> {
  endWithOutput()
  try {
    const given = process.argv.slice(2)
    const args = given[0] === 'help' ? helpOf(given.slice(1)) : given.map(asCommand)
    await (await createProgram(args[0])).parseAsync(args, { from: 'user' })
  } catch (error) {
    process.exitCode = report(error)
  }
}

/** `carrel --version` is `carrel version`, so that no other command is loaded for it. */
const asCommand = (word: string, at: number) =>
  at === 0 && (word === '--version' || word === '-V') ? 'version' : word

/** `carrel help import` is `carrel import --help`. A command that doesn't exist is refused without that. */
const helpOf = (path: readonly string[]): readonly string[] =>
  path[0] === undefined || commands.has(path[0]) ? [...path, '--help'] : path

/** Commands, each loaded when it is called for: together they would double the time and memory of a start. */
const commands: ReadonlyMap<string, () => Promise<Command>> = new Map(
  Object.entries({
    serve: async () => (await import('./serve.ts')).serveCommand(),
    eperson: async () => (await import('./eperson.ts')).epersonCommand(),
    group: async () => (await import('./group.ts')).groupCommand(),
    open: async () => (await import('./open.ts')).openCommand(),
    token: async () => (await import('./token.ts')).tokenCommand(),
    'access-token': async () => (await import('./access-token.ts')).accessTokenCommand(),
    import: async () => (await import('./import.ts')).importCommand(),
    ingest: async () => (await import('./ingest.ts')).ingestCommand(),
    item: async () => (await import('./item.ts')).itemCommand(),
    files: async () => (await import('./files.ts')).filesCommand(),
    expose: async () => (await import('./expose.ts')).exposeCommand(),
    entity: async () => (await import('./entity.ts')).entityCommand(),
    query: async () => (await import('./query.ts')).queryCommand(),
    secret: async () => (await import('./secret.ts')).secretCommand(),
    copy: async () => (await import('./copy.ts')).copyCommand(),
    backup: async () => (await import('./backup.ts')).backupCommand(),
    restore: async () => (await import('./restore.ts')).restoreCommand(),
    events: async () => (await import('./events.ts')).eventsCommand(),
    types: async () => (await import('./types.ts')).typesCommand(),
    sso: async () => (await import('./sso.ts')).ssoCommand(),
    doctor: async () => (await import('./doctor.ts')).doctorCommand(),
    version: async () => new Command('version').description('Print the version.').action(() => say(version)),
  }),
)

/** @param called name of the command that is called, if it is known: the others are left out */
export async function createProgram(called?: string): Promise<Command> {
  const load = called === undefined ? undefined : commands.get(called)
  const all = load ? [load] : [...commands.values()]
  const program = new Command('carrel')
    .description('A self-hosted, token-authenticated repository API.')
    .version(version)
    .addHelpText(
      'after',
      '\nSettings come from the environment: CARREL_DATA, CARREL_PORT, … (docs/reference/settings.md).',
    )
  for (const one of all) program.addCommand(await one())
  prepare(program, '')
  return program
}

/**
 * Ends the help of a command with its example, and writes errors to standard error, each in one line with
 * advice, also those that commander finds.
 * @param path names of the command and of those above it; empty for the program
 */
function prepare(command: Command, path: string): void {
  const example = examples[path]
  if (example !== undefined) command.addHelpText('after', `\nExample:\n  ${example}`)
  command
    .exitOverride()
    .allowExcessArguments(false)
    .helpCommand(false)
    .configureOutput({
      outputError: (text, write) =>
        write(
          `carrel: ${text
            .replace(/^error: /, '')
            .trim()
            .replace(/\s*\n\s*/g, ' ')}${/^error: unknown option/.test(text) ? `; ${taken(command)}` : ''}\n`,
        ),
    })
  for (const sub of command.commands) prepare(sub, `${path} ${sub.name()}`.trim())
}

/** Says which options a command takes. */
function taken(command: Command): string {
  const options = command.options.flatMap(({ long, hidden }) => (long && !hidden ? [long] : []))
  const name = command.parent ? command.name() : 'carrel'
  return options.length === 0 ? `${name} takes no options` : `${name} takes ${options.join(', ')}`
}

function report(error: unknown): number {
  if (error instanceof CommanderError) {
    // Asking for help is right; naming no command is wrong usage. Commander has printed the help for both.
    return error.code === 'commander.helpDisplayed' || error.code === 'commander.version' ? 0 : 2
  }
  const message = describe(error)
  process.stderr.write(`carrel: ${message}\n`)
  return error instanceof Misuse || error instanceof ConfigError ? 2 : 1
}

/** Writes a line for each fault that an operator can put right, and a stack for faults of the program. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof OperatorError) return [error.message, ...error.details].join('\n')
  const reason = systemReason(error)
  const { path } = error as NodeJS.ErrnoException
  if (reason !== undefined) return path === undefined ? reason : `${path} can't be used: ${reason}`
  return error.stack ?? error.message
}
