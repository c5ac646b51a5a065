import { once } from 'node:events'
import { createWriteStream, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

function folder(): string {
  const path = process.env.IMPORT_DATA ?? join(tmpdir(), 'import-data')
  mkdirSync(path, { recursive: true })
  return path
}

/**
 * Generates a file of records, the same on every machine: 183 bytes each on average, with eight fields. Keys
 * are in no order; texts have few or many distinct values; there are numbers, nulls and instants. The file is
 * kept for the next run.
 *
 * @returns its path
 */
export async function catalogue(count: number): Promise<string> {
  const file = join(folder(), `catalogue-${count}.ndjson`)
  if (existsSync(file)) return file
  const out = createWriteStream(`${file}.writing`)
  for (let at = 0; at < count; at += 1_000) {
    const lines = Array.from({ length: Math.min(1_000, count - at) }, (_, n) =>
      JSON.stringify(catalogued(at + n, count)),
    )
    if (!out.write(`${lines.join('\n')}\n`)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'close')
  renameSync(`${file}.writing`, file)
  return file
}

/**
 * Generates a file of a thousand changes: new titles and weights, new artists for a third, and a hundred new
 * records.
 */
export async function changesOf(count: number, round: number): Promise<string> {
  const changes = Array.from({ length: 1_000 }, (_, n) => {
    const record = catalogued((n * 997 + 13) % count, count)
    return {
      ...record,
      id: n % 10 === 0 ? count + n : record.id,
      title: `Round ${round} of ${record.title}`,
      artist: n % 3 === 0 ? `Artist ${round} ${n}` : record.artist,
      weight: record.weight + round / 1_000,
    }
  })
  const file = join(folder(), 'changes.ndjson')
  writeFileSync(file, changes.map(change => `${JSON.stringify(change)}\n`).join(''))
  return file
}

/** A prime, so that multiplication by it permutes the numbers below a count. */
const stride = 7_368_787

/** @param n the position of the record in the file */
export function catalogued(n: number, count: number) {
  const seed = Math.imul(n + 1, 2_654_435_761) >>> 0
  return {
    id: (n * stride) % count,
    code: `C${seed.toString(36).padStart(7, '0')}`,
    title: `View ${seed % 250_007} of the series ${seed % 977}, framed.`,
    artist: seed % 17 === 0 ? null : `Artist ${seed % 4_999}`,
    year: seed % 13 === 0 ? null : 1500 + (seed % 520),
    weight: (seed % 100_000) / 100,
    state: ['open', 'lent', 'stored', 'lost'][seed % 4],
    changed: new Date(1_000_000_000_000 + seed * 100).toISOString(),
  }
}
