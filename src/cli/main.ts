import { Command, CommanderError } from 'commander'
import { ConfigError } from '../config/file.ts'
import { OtherStore, UnfinishedCopy } from '../files/owner.ts'
import { ImportError } from '../import/source.ts'
import { systemReason } from '../lib/system-errors.ts'
import { version } from '../lib/version.ts'
import { StoreUnavailable } from '../model/errors.ts'
import { CopyError } from '../storage/copy/dump.ts'
import { ExposeError } from '../storage/entities.ts'
import { completionCommand } from './completion.ts'
import { copyCommand } from './copy.ts'
import { entityCommand } from './entity.ts'
import { epersonCommand } from './eperson.ts'
import { exposeCommand } from './expose.ts'
import { Failure, Misuse } from './failures.ts'
import { filesCommand } from './files.ts'
import { groupCommand } from './group.ts'
import { importCommand } from './import.ts'
import { ingestCommand } from './ingest.ts'
import { itemCommand } from './item.ts'
import { endWithOutput } from './output.ts'
import { secretCommand } from './secret.ts'
import { serveCommand } from './serve.ts'
import { ssoCommand } from './sso.ts'
import { tokenCommand } from './token.ts'

/** The command line (D1, D2). Exit code 0: done; 1: it failed; 2: it was called the wrong way. */
export async function main(): Promise<void> {
  endWithOutput()
  try {
    await createProgram().parseAsync()
  } catch (error) {
    process.exitCode = report(error)
  }
}

export function createProgram(): Command {
  const program = new Command('carrel')
    .description('A self-hosted, token-authenticated repository API.')
    .version(version)
    .addCommand(serveCommand())
    .addCommand(epersonCommand())
    .addCommand(groupCommand())
    .addCommand(tokenCommand())
    .addCommand(importCommand())
    .addCommand(ingestCommand())
    .addCommand(itemCommand())
    .addCommand(filesCommand())
    .addCommand(exposeCommand())
    .addCommand(entityCommand())
    .addCommand(secretCommand())
    .addCommand(copyCommand())
    .addCommand(ssoCommand())
    .addCommand(completionCommand())
    .addHelpText(
      'after',
      '\nSettings come from the environment: CARREL_DATA, CARREL_PORT, … (docs/reference/settings.md).',
    )
  prepare(program)
  return program
}

/** Errors go to standard error, each in one line that says what to do, and so do those that commander finds. */
function prepare(command: Command): void {
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
            .replace(/\s*\n\s*/g, ' ')}\n`,
        ),
    })
  for (const sub of command.commands) prepare(sub)
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

/** One line for what an operator can put right; a stack for what only we can. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (known.some(one => error instanceof one)) return error.message
  const reason = systemReason(error)
  const { path } = error as NodeJS.ErrnoException
  if (reason !== undefined) return path === undefined ? reason : `${path} can't be used: ${reason}`
  return error.stack ?? error.message
}

const known = [
  Misuse,
  Failure,
  ConfigError,
  ImportError,
  ExposeError,
  CopyError,
  OtherStore,
  UnfinishedCopy,
  StoreUnavailable,
] as const
