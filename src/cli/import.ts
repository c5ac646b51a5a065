import { SingleBar } from 'cli-progress'
import { Command } from 'commander'
import { type ImportReport, importFile, type Progress } from '../import/import-entity.ts'
import type { ReadRule } from '../storage/storage.ts'
import { Failure, Misuse } from './failures.ts'
import { say, table } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel import`: makes a file's records an entity's (D2). */
export function importCommand(): Command {
  return new Command('import')
    .argument('<file>', 'NDJSON, a JSON array or CSV, gzip or not; - for standard input')
    .description("Replace an entity's records with those of a file, whole or not at all.")
    .requiredOption('--entity <name>', 'the entity: a-z, 0-9, _ and -')
    .requiredOption('--key <field>', 'the field that tells records apart')
    .option('--read <who>', 'who may read it: anonymous, eperson, admin or group:<name>', 'admin')
    .option('--json', 'print the report as JSON')
    .action(async (file: string, options: { entity: string; key: string; read: string; json?: boolean }) => {
      const read = readRule(options.read)
      await withStore(async ({ accounts, entities }) => {
        if (read.startsWith('group:')) {
          const group = read.slice('group:'.length)
          const known = await accounts.listGroups()
          if (!known.some(one => one.name === group))
            throw new Failure(`there is no group ${group}; add it with «carrel group add ${group}»`)
        }
        const progress = showProgress()
        try {
          const report = await importFile(
            file,
            entities,
            { name: options.entity, key: options.key, read, event: commandEvent('entity.import') },
            progress.update,
          )
          progress.stop()
          say(options.json ? JSON.stringify(report, null, 2) : describe(report))
        } finally {
          progress.stop()
        }
      })
    })
}

function readRule(text: string): ReadRule {
  if (text === 'anonymous' || text === 'eperson' || text === 'admin') return text
  if (/^group:.+/.test(text)) return text as ReadRule
  throw new Misuse(`--read takes anonymous, eperson, admin or group:<name>, not ${JSON.stringify(text)}`)
}

function describe({ entity, records, fields, milliseconds }: ImportReport): string {
  return [
    table(
      ['FIELD', 'TYPE', 'NULLS'],
      fields.map(field => [field.name, field.type, field.nulls]),
    ),
    '',
    `Imported ${records.toLocaleString('en')} records into ${entity} in ${(milliseconds / 1000).toFixed(1)} s.`,
  ].join('\n')
}

/** A bar on a terminal, a line every few seconds otherwise; on standard error, so that output stays clean. */
function showProgress(): { update: Progress; stop(): void } {
  const bar = new SingleBar({
    format: '{step} [{bar}] {percentage} %',
    stream: process.stderr,
    noTTYOutput: true,
    notTTYSchedule: 3_000,
    hideCursor: true,
    clearOnComplete: true,
  })
  const begun = performance.now()
  let started = false
  return {
    update: (step, share) => {
      // What is done in a moment needs no progress.
      if (!started && performance.now() - begun < 1_000) return
      if (started) bar.update(Math.round(share * 100), { step })
      else bar.start(100, Math.round(share * 100), { step })
      started = true
    },
    stop: () => bar.stop(),
  }
}
