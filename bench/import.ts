import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startPostgres } from '../test/support/service/postgres-server.ts'
import { catalogue, changesOf } from './support/catalogue.ts'
import { artworks, scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { entry } from './support/processes.ts'

/**
 * Imports records on both engines, and measures records per second, peak memory and processor time of the
 * whole process. Then imports a thousand changes of these records. The number of records can be given: `node
 * bench/import.ts 5000000`.
 */
const count = Number(process.argv[2] ?? 1_000_000)
const rounds = count > 1_000_000 ? 1 : 3

const notes = scratch()

interface Run {
  readonly seconds: number
  readonly peak: number
  readonly processor: number
}

/** Runs a command and measures it like GNU `time`. */
async function run(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Run> {
  const file = join(notes, 'usage')
  const report = `process.on('exit', () => { const used = process.resourceUsage();
    require('node:fs').writeFileSync(${JSON.stringify(file)}, JSON.stringify(used)) })`
  const start = performance.now()
  const child = spawn(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(withRequire(report))}`, entry, ...args],
    { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'ignore'] },
  )
  const code = await new Promise(resolve => child.once('exit', resolve))
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}`)
  const used = JSON.parse(readFileSync(file, 'utf8')) as NodeJS.ResourceUsage
  return {
    seconds: (performance.now() - start) / 1000,
    peak: used.maxRSS / 1024,
    processor: (used.userCPUTime + used.systemCPUTime) / 1e6,
  }
}

const withRequire = (script: string) =>
  `import { createRequire } from 'node:module'; import { isMainThread } from 'node:worker_threads';
   const require = createRequire('file:///'); if (isMainThread) { ${script} }`

async function measure(name: string, records: number, work: () => Promise<Run>): Promise<void> {
  const runs: Run[] = []
  for (let round = 0; round < rounds; round++) runs.push(await work())
  const seconds = median(runs.map(one => one.seconds))
  console.log(
    `${name}: ${seconds.toFixed(1)} s, ${Math.round(records / seconds).toLocaleString('en')} records a second, ` +
      `${median(runs.map(one => one.peak)).toFixed(0)} MB peak, ${median(runs.map(one => one.processor)).toFixed(1)} s of processor time`,
  )
}

const server = await startPostgres({ flags: ['shared_buffers=512MB', 'max_wal_size=4GB'] })
const file = await catalogue(count)
const words = ['import', file, '--entity', 'catalogue', '--key', 'id']
for (const [engine, more] of [
  ['SQLite', {}],
  ['PostgreSQL', { CARREL_DATABASE_URL: server.url }],
] as const) {
  const env = { ...more, CARREL_DATA: scratch() }
  await measure(`import of the artworks, ${engine}`, 69_202, () =>
    run(['import', artworks(), '--entity', 'artworks', '--key', 'id'], env),
  )
  await measure(`import of ${count.toLocaleString('en')} records, ${engine}`, count, () => run(words, env))
  let round = 0
  await measure(`update of 1,000 of them, ${engine}`, 1_000, async () =>
    run(['import', await changesOf(count, round++), '--entity', 'catalogue', '--update'], env),
  )
}
await server.remove()
