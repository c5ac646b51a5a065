import { Command } from 'commander'
import { toConfig } from '../config/config.ts'
import { settings } from '../config/settings.ts'
import { openDump } from '../storage/copy/from-sqlite.ts'
import { Failure, Misuse } from './failures.ts'
import { say, table } from './output.ts'
import { showProgress } from './progress.ts'
import { commandEvent } from './store.ts'

/** `carrel copy`: moves an embedded store up to PostgreSQL, tokens and all. */
export function copyCommand(): Command {
  return new Command('copy')
    .description(
      'Copy the embedded store of CARREL_DATA into an empty PostgreSQL database. Tokens stay valid.',
    )
    .requiredOption('--to <url>', 'postgres://user:password@host:port/database')
    .option('--json', 'print what was copied as JSON')
    .action(async ({ to, json }: { to: string; json?: boolean }) => {
      const config = toConfig(process.env)
      if (config.database.kind !== 'embedded')
        throw new Failure('copying goes from the embedded store; unset CARREL_DATABASE_URL')
      const url = settings.CARREL_DATABASE_URL.read(to)
      if (url === undefined) throw new Misuse('--to takes postgres://user:password@host:port/database')
      const { copyToPostgres } = await import('../storage/copy/to-postgres.ts')
      const dump = openDump(config.dataFolder)
      const progress = showProgress()
      try {
        const loaded = await copyToPostgres(url, dump, commandEvent('store.copy'), progress.update)
        progress.stop()
        if (json) return say(JSON.stringify(loaded, null, 2))
        say(
          table(
            ['COPIED', 'ROWS', 'SHA-256, SENT AND READ BACK'],
            loaded.map(({ part, rows, sha256 }) => [part, rows, sha256]),
          ),
        )
        say('\nSet CARREL_DATABASE_URL to the new database and start; tokens stay valid.')
        if (config.tokenSecrets.length > 0) say('Keep CARREL_TOKEN_SECRET as it is.')
      } finally {
        progress.stop()
        dump.close()
      }
    })
}
