import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { carrel } from './processes.ts'

/**
 * Imports generated records, the same on every machine: about 230 bytes of JSON each, ten fields, one of them
 * nested.
 *
 * @returns the time of the import in seconds
 */
export async function importGenerated(dataFolder: string, count: number): Promise<number> {
  const file = join(dataFolder, 'generated.ndjson')
  const out = createWriteStream(file)
  for (let at = 0; at < count; at += 1_000) {
    const lines = Array.from({ length: Math.min(1_000, count - at) }, (_, n) =>
      JSON.stringify(record(at + n)),
    ).join('\n')
    if (!out.write(`${lines}\n`)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'close')
  const start = performance.now()
  carrel(dataFolder, ['import', file, '--entity', 'generated', '--key', 'id', '--read', 'anonymous'])
  return (performance.now() - start) / 1000
}

function record(n: number) {
  const seed = Math.imul(n + 1, 2_654_435_761) >>> 0
  return {
    id: n,
    code: seed.toString(36),
    title: `Record ${seed % 100_000} of the series ${seed % 977}`,
    year: seed % 13 === 0 ? null : 1500 + (seed % 520),
    weight: (seed % 100_000) / 100,
    public: seed % 2 === 0,
    place: `Place ${seed % 5_003}`,
    modified: new Date(1_000_000_000_000 + seed * 100).toISOString(),
    tags: [`t${seed % 31}`, `t${seed % 37}`],
    note: seed % 5 === 0 ? null : 'a short note that many records share',
  }
}
