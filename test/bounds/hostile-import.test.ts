import assert from 'node:assert/strict'
import { createWriteStream, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { TestContext } from 'node:test'
import { createGzip } from 'node:zlib'
import { isLong, repeats } from '../support/scale.ts'
import { test, testOn } from '../support/service/engines.ts'
import { carrelProcess, withoutProgress } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'

const megabyte = 1024 * 1024

/** Maximum memory of the whole process in MB. A normal import takes 120 to 230. */
const maxMemory = 500

/** Yields `head`, and then `piece` repeatedly, generated while it is written. */
function* endless(head: string, piece: string, megabytes: number): Iterable<Buffer> {
  yield Buffer.from(head)
  const part = Buffer.from(piece.repeat(Math.ceil(megabyte / piece.length)))
  for (let n = 0; n < megabytes; n++) yield part
}

interface Hostile {
  readonly name: string
  readonly content: () => Iterable<Buffer>
  readonly message: RegExp
  readonly more?: readonly string[]
}

const csv = 'id,t\n1,a\n2,b\n'
const ndjson = '{"id":1}\n{"id":2}\n'

const hostile: readonly Hostile[] = [
  {
    name: 'quote.csv',
    content: () => endless(`${csv}3,"open\n`, 'x,a row that follows\n', repeats(20, 60)),
    message: /^carrel: line 4: the quoted value that begins here doesn't end within 16 MB; /,
  },
  {
    name: 'later-quote.csv',
    content: () => endless(`${csv}3,"two\nlines"\n4,"\n\nopen`, 'x,a row that follows\n', 20),
    message: /^carrel: line 6: the quoted value that begins here doesn't end within 16 MB; /,
  },
  {
    name: 'quoted-cells.csv',
    content: () => endless(`${csv}3,`, '"\n",', 20),
    message: /^carrel: line 4: a row of more than 100,000 cells; /,
  },
  {
    name: 'commas.csv',
    content: () => endless(csv, ',', 20),
    message: /^carrel: line 4: a row of more than 100,000 cells; /,
  },
  {
    name: 'wide.csv',
    content: () => endless(csv, `${','.repeat(megabyte - 1)}\n`, 3),
    message: /^carrel: line 4: a row of more than 100,000 cells; /,
  },
  {
    name: 'columns.csv',
    content: () => [Buffer.from(`${Array.from({ length: 100_000 }, (_, n) => `c${n}`).join(',')}\n`)],
    message: /^carrel: line 1: there are 100,000 columns, and at most 1,900 are taken; /,
  },
  {
    name: 'blank.csv',
    content: () => endless(csv, '\n', 20),
    message: /^carrel: line 3: more than 16 MB of white space begin here; /,
  },
  {
    name: 'line.ndjson',
    content: () => endless(`${ndjson}{"id":"`, 'x', 20),
    message: /^carrel: line 3: longer than 16 MB; /,
  },
  {
    name: 'fields.ndjson',
    content: () => {
      const fields = Array.from({ length: 300_000 }, (_, n) => `"f${n}":1`)
      return [Buffer.from(`${ndjson}{"id":3,${fields.join(',')}}\n`)]
    },
    message: /^carrel: line 3: more than 1900 different fields; /,
  },
  {
    name: 'deep.ndjson',
    content: () => endless(`${ndjson}{"id":`, '[', 12),
    message: /^carrel: line 3: arrays and objects are nested more than 1,000 levels deep; /,
  },
  {
    name: 'keyless.ndjson',
    content: () => endless(ndjson, '{}\n', repeats(20, 60)),
    message: /^carrel: line 3: the key field "id" is missing or null; /,
  },
  {
    name: 'blank.ndjson',
    content: () => endless(ndjson, '\n', 20),
    message: /^carrel: line 2: more than 16 MB of white space begin here; /,
  },
  {
    name: 'spaces.ndjson',
    content: () => endless('', ' \n', 20),
    message: /^carrel: line 1: more than 16 MB of white space begin here; /,
  },
  {
    name: 'record.json',
    content: () => endless('[{"id":1},\n{"id":"', 'x', 20),
    message: /^carrel: line 2: a record longer than 16 MB; /,
  },
  {
    name: 'blank.json',
    content: () => endless('[{"id":1}\n', ' ', 20),
    message: /^carrel: line 1: more than 16 MB of white space begin here; /,
  },
  {
    name: 'after.json',
    content: () => endless('[{"id":1},\n{"id":2}]', '\n', 20),
    message: /^carrel: line 2: more than 16 MB of white space begin here; /,
  },
  {
    name: 'keyless.json',
    content: () => endless('[{"id":1},\n{"id":2}', ',{}', 20),
    message: /^carrel: line 2: the key field "id" is missing or null; /,
  },
]

async function write(t: TestContext, { name, content }: Hostile, packed: boolean): Promise<string> {
  const path = join(temporaryFolder(t, 'sqlite'), packed ? `${name}.gz` : name)
  const out = createWriteStream(path)
  if (packed) await pipeline(Readable.from(content()), createGzip({ level: 1 }), out)
  else await pipeline(Readable.from(content()), out)
  return path
}

/** Runs `carrel` as a process of its own. @returns its result with its peak memory in MB */
async function measured(t: TestContext, dataFolder: string, args: readonly string[]) {
  const folder = temporaryFolder(t, 'sqlite')
  const [script, report] = [join(folder, 'report.cjs'), join(folder, 'report')]
  writeFileSync(
    script,
    `const { isMainThread } = require('node:worker_threads')
     const { readFileSync, writeFileSync } = require('node:fs')
     if (isMainThread) process.on('exit', () =>
       writeFileSync(${JSON.stringify(report)}, /VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]))`,
  )
  const finished = await carrelProcess(dataFolder, args, { env: { NODE_OPTIONS: `--require=${script}` } })
  return { ...finished, memory: Number(readFileSync(report, 'utf8')) / 1024 }
}

/** Files that the long run also tries compressed; in CI, files of changes are compressed. */
const packedToo = isLong
  ? ['quote.csv', 'line.ndjson', 'record.json', 'wide.csv', 'blank.ndjson', 'keyless.ndjson', 'blank.json']
  : []

/** Files similar to others that CI tries. */
const inLongRun = ['later-quote.csv', 'quoted-cells.csv', 'spaces.ndjson', 'after.json']

for (const one of hostile.filter(({ name }) => isLong || !inLongRun.includes(name)))
  for (const packed of packedToo.includes(one.name) ? [false, true] : [false]) {
    const name = packed ? `${one.name}.gz` : one.name
    // These files are refused before they reach a store.
    testOn(
      'sqlite',
      `D2 a hostile file is refused early, by its line, in bounded memory: ${name}`,
      async t => {
        const file = await write(t, one, packed)
        const done = await measured(t, temporaryFolder(t), ['import', file, '--entity=kept', '--key=id'])
        const said = withoutProgress(done.stderr.replace(/^carrel: created .*\n/m, ''))
        assert.match(said, one.message)
        assert.match(said, /^([^\n]{1,2100}\n){1,21}$/)
        assert.equal(done.code, 1)
        assert.ok(done.memory < maxMemory, `it takes ${done.memory} MB`)
      },
    )
  }

testOn(
  'sqlite',
  'D2 a gzip file of good records without end is refused, and says how to import it anyway',
  async t => {
    const bomb = {
      name: 'bomb.ndjson',
      content: () => endless('', `{"id":1,"t":"${'a'.repeat(5_000)}"}\n`, 80),
      message: /./,
    }
    const file = await write(t, bomb, true)
    const { stderr, code, memory } = await measured(t, temporaryFolder(t), [
      'import',
      file,
      '--entity=x',
      '--key=id',
    ])
    assert.match(
      stderr,
      /carrel: bomb\.ndjson\.gz unpacks to more than 150 times its size; .* unpack it first/,
    )
    assert.equal(code, 1)
    assert.ok(memory < maxMemory, `${memory} MB`)
  },
)

test('D12 hostile files of changes are refused early, by the line, and nothing changes', async t => {
  const dataFolder = temporaryFolder(t)
  const good = await write(
    t,
    { name: 'good.ndjson', content: () => [Buffer.from(ndjson)], message: /./ },
    false,
  )
  const made = await measured(t, dataFolder, ['import', good, '--entity=kept', '--key=id', '--json'])
  assert.equal(made.code, 0, made.stderr)
  const kinds = ['--update', '--delete']
  const tooMany = /^carrel: these are more than 100,000 records, or more than 64 MB; /
  const changes: readonly Hostile[] = [
    ...hostile.filter(({ name }) =>
      ['quote.csv', 'line.ndjson', 'record.json', ...(isLong ? ['deep.ndjson', 'blank.json'] : [])].includes(
        name,
      ),
    ),
    { name: 'rows.csv', content: () => endless(csv, `3,${'x'.repeat(1_000)}\n`, 80), message: tooMany },
    { name: 'many.ndjson', content: () => endless(ndjson, '{"id":3}\n', 2), message: tooMany },
  ]
  // Both kinds of changes are read in the same way, so CI tries one of them.
  for (const [number, one] of changes.entries())
    for (const kind of isLong ? kinds : kinds.slice(number % 2).slice(0, 1)) {
      const file = await write(t, one, true)
      const done = await measured(t, dataFolder, ['import', file, '--entity=kept', kind])
      rmSync(file)
      assert.match(withoutProgress(done.stderr), one.message, one.name)
      assert.equal(done.code, 1)
      assert.ok(done.memory < maxMemory, `${one.name} takes ${done.memory} MB`)
    }
  const after = await measured(t, dataFolder, ['import', good, '--entity=kept', '--update', '--json'])
  const { unchanged, records } = JSON.parse(after.stdout) as Record<string, number>
  assert.deepEqual({ unchanged, records }, { unchanged: 2, records: 2 })
})

test('D2 large records that are not too large are imported, and lines after empty ones and quoted line breaks are named', async t => {
  const dataFolder = temporaryFolder(t)
  const large = {
    name: 'large.csv',
    message: /./,
    content: () => endless(`${csv.replaceAll('\n', '\r\n')}3,"`, 'x\r\n', 11),
  }
  const content = () => [...large.content(), Buffer.from('"\r\n\r\n\r\n4,"a\r\nb"\r\n5\r\n')]
  const file = await write(t, { ...large, content }, true)
  const { stderr } = await measured(t, dataFolder, ['import', file, '--entity=kept', '--key=id'])
  const breaks = Math.ceil(megabyte / 3) * 11
  // Before the fault, there are three lines, those of the long cell, two empty ones, and two of a row.
  assert.match(
    stderr,
    new RegExp(`carrel: line ${4 + breaks + 1 + 2 + 2}: the row and the header differ in length`),
  )
})
