import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Command, Option } from 'commander'
import { nobody } from '../lib/fair-queue.ts'
import type { Entity } from '../model/entities.ts'
import type { Plan } from '../model/plan.ts'
import { csvHeader, type RecordFormat } from '../model/record-format.ts'
import { check } from '../query/check/check.ts'
import { QueryError } from '../query/language/node.ts'
import { readQuery } from '../query/plan.ts'
import type { Listing } from '../storage/entities.ts'
import { Failure } from './failures.ts'
import { withStore } from './store.ts'

const formats: readonly RecordFormat[] = ['ndjson', 'json', 'csv']

/** `carrel query`: the records that a query finds, as an administrator sees them. */
export const queryCommand = (): Command =>
  new Command('query')
    .argument('<query>', 'PQL, or an AST as a JSON array that begins with "from"')
    .description('Write what a query finds to standard output, with all that an administrator sees.')
    .addOption(new Option('--format <format>', 'the format').choices(formats).default('ndjson'))
    .action((query: string, { format }: { format: RecordFormat }) =>
      withStore(async ({ entities }) => {
        const plan = planOf(query, await entities.all())
        const { body } = await entities.list(plan, { kind: 'administrator' }, format, nobody)
        await pipeline(Readable.from(framed(body, plan, format)), process.stdout, { end: false })
      }),
    )

function planOf(query: string, entities: ReadonlyMap<string, Entity>): Plan {
  try {
    const context = { entities, entity: null, mayRead: () => true, given: { total: false } }
    return check(readQuery(query, null), context)
  } catch (error) {
    if (!(error instanceof QueryError)) throw error
    throw new Failure(`the query is wrong. ${error.message.replaceAll('\n', ' ')}`)
  }
}

/** Puts pieces of records together, with what the format has before, between and after them. */
async function* framed(body: Listing['body'], { entity, shape }: Plan, format: RecordFormat) {
  const fields = shape.kind === 'rows' ? shape.columns : entity.fields
  const header = format === 'csv' ? `${csvHeader(fields)}\r\n` : ''
  const [before, between, after] = {
    json: ['[', ',', ']\n'],
    ndjson: ['', '\n', '\n'],
    csv: [header, '\r\n', '\r\n'],
  }[format]
  let isBegun = false
  for await (const piece of body instanceof Uint8Array ? [body] : body) {
    if (piece.length === 0) continue
    yield isBegun ? between : before
    yield piece
    isBegun = true
  }
  yield isBegun ? after : format === 'json' ? '[]\n' : header
}
