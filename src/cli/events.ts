import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Command, Option } from 'commander'
import { quantity } from '../lib/quantities.ts'
import type { Field } from '../model/entities.ts'
import { csvHeader, csvLines } from '../model/record-format.ts'
import { checkpointName, hex } from '../model/trail.ts'
import { type Verdict, verifyTrail } from '../storage/statements/verify-trail.ts'
import { eventColumns, type StoredEvent, type TimeRange, type TrailReader } from '../storage/trail.ts'
import { Misuse } from './failures.ts'
import { asProcess, withProgress } from './long-work.ts'
import { type Json, jsonOption, printable, sayResult } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel events …`: the audit trail (D9, docs/decisions/0027). */
export function eventsCommand(): Command {
  const command = new Command('events').description('Export, prune and verify the audit trail.')

  command
    .command('export')
    .description('Write events to standard output, oldest first. They stay in the store.')
    .option('--since <time>', 'from this time on: 2026-01-31, or 2026-01-31T12:00:00Z')
    .option('--until <time>', 'before this time')
    .addOption(new Option('--format <format>', 'the format').choices(formats).default('ndjson'))
    .action(({ since, until, format }: { since?: string; until?: string; format: Format }) => {
      const range = { since: readTime(since, '--since'), until: readTime(until, '--until') }
      return withStore(({ trail }) => trail.read(reader => exportTo(reader, range, format)))
    })

  command
    .command('prune')
    .description('Remove old events, and leave a signed marker that says so. Export them first.')
    .requiredOption('--before <time>', 'remove events before this time: 2026-01-31, or 2026-01-31T12:00:00Z')
    .option(...jsonOption)
    .action(({ before: given, json }: Json & { before: string }) => {
      const before = readTime(given, '--before') ?? given
      if (before > new Date().toISOString()) throw new Misuse('--before takes a time in the past')
      return withStore(async ({ trail }) => {
        const total = await trail.read(async reader => reader.count(before))
        let removed = 0
        await withProgress(async ({ update }) => {
          for (let some = -1; some !== 0; ) {
            some = await trail.pruneSome(before)
            removed += some
            update('pruning', removed / Math.max(removed, total))
          }
        })
        if (removed > 0) await trail.record(commandEvent('events.prune', before))
        sayResult(json, { removed, before }, `Removed ${quantity(removed, 'event')} before ${before}.`)
      })
    })

  command
    .command('verify')
    .description('Check that no event was changed, removed, inserted or moved.')
    .option('--checkpoint <name>', 'a checkpoint that was printed before, which must still be in the trail')
    .option('--max <n>', 'how many faults to name at most', '20')
    .option(...jsonOption)
    .action(({ checkpoint, max, json }: Json & { checkpoint?: string; max: string }) => {
      const maxFaults = /^[1-9]\d{0,5}$/.test(max) ? Number(max) : undefined
      if (maxFaults === undefined) throw new Misuse('--max takes a number from 1 to 999999')
      if (checkpoint !== undefined && !/^\d{1,15}:[0-9a-f]{64}$/.test(checkpoint))
        throw new Misuse(
          '--checkpoint takes what `carrel events verify` printed: a number, a colon and 64 digits',
        )
      return withStore(async storage => {
        const { trail } = storage
        // A checkpoint is made first, so that events that were added just now are verified, too.
        await trail.checkpoint()
        const parameters = checkpoint === undefined ? {} : { checkpoint }
        const wanted = { maxFaults, kept: checkpoint ?? null }
        const verdict = await withProgress(shown =>
          asProcess(
            storage,
            { kind: 'verify-trail', parameters },
            shown,
            ({ progress }) =>
              trail.read(reader => verifyTrail(reader, wanted, share => progress('verifying', share))),
            ({ faults, ...counts }) => ({ ...counts, faults: faults.length }),
          ),
        )
        sayResult(json, verdict, describe(verdict, maxFaults))
        if (verdict.faults.length > 0) process.exitCode = 1
      })
    })
  return command
}

const formats = ['ndjson', 'csv'] as const
type Format = (typeof formats)[number]
/** Number of events that are written at a time. */
const written = 500

async function exportTo(reader: TrailReader, range: TimeRange, format: Format): Promise<void> {
  await pipeline(Readable.from(chunks(reader, range, format)), process.stdout, { end: false })
  let last: string | undefined
  for await (const checkpoint of reader.checkpoints()) last = checkpointName(checkpoint)
  // The checkpoint goes to standard error, so that it is not among the events.
  if (last !== undefined) process.stderr.write(`carrel: the last checkpoint is ${last}\n`)
}

async function* chunks(reader: TrailReader, range: TimeRange, format: Format): AsyncIterable<string> {
  if (format === 'csv') yield `${csvHeader(fields)}\r\n`
  let lines: string[] = []
  const chunk = () =>
    format === 'csv'
      ? `${Buffer.from(csvLines(lines.join(','), fields)).toString()}\r\n`
      : `${lines.join('\n')}\n`
  for await (const event of reader.events(range)) {
    lines.push(JSON.stringify(shown(event)))
    if (lines.length < written) continue
    yield chunk()
    lines = []
  }
  if (lines.length > 0) yield chunk()
}

const names = eventColumns.split(', ') as readonly (keyof StoredEvent)[]
const fields = names.map((name): Field => ({ name, type: 'text', nullable: true }))
const shown = (event: StoredEvent) =>
  Object.fromEntries(names.map(name => [name, name === 'hash' ? event.hash && hex(event.hash) : event[name]]))

/** @returns the time as events have it; null if none was given */
function readTime(given: string | undefined, option: string): string | null {
  if (given === undefined) return null
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d))?$/.test(given)
  const time = new Date(given)
  if (!isTime || Number.isNaN(time.getTime()))
    throw new Misuse(
      `${option} takes a date (2026-01-31, UTC) or a time with its zone (2026-01-31T12:00:00Z)`,
    )
  return time.toISOString()
}

function describe({ faults, events, checkpoints, begun, pruned, last }: Verdict, max: number): string {
  const lines = faults.map(({ event, time, problem }) => {
    const where = [event === null ? [] : `event ${event}`, time === null ? [] : time].flat().join(', ')
    return printable(where === '' ? problem : `${where}: ${problem}`)
  })
  if (faults.length > 0)
    lines.push(
      faults.length >= max ? `Stopped after ${max} faults (--max).` : `${quantity(faults.length, 'fault')}.`,
    )
  else
    lines.push(
      `${quantity(events, 'event')} and ${quantity(checkpoints, 'checkpoint')}: all as they were written.`,
    )
  if (begun)
    lines.push(`The trail began at ${begun.time} with ${quantity(begun.events, 'event')} from before.`)
  if (pruned) lines.push(`${quantity(pruned.events, 'event')} were pruned, the last before ${pruned.before}.`)
  if (last) lines.push(`Last checkpoint, at ${last.time}; keep it elsewhere:`, last.name)
  return lines.join('\n')
}
