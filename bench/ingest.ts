import { spawnSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { entry } from './support/processes.ts'

/** Ingests 2,000 item folders with three small files each into the embedded store: items per second, whole process. */
const items = 2_000
const fileNames = ['scan.txt', 'notes.txt', 'cover.txt']

const source = join(scratch(), 'letters')
for (let at = 0; at < items; at++) {
  const folder = join(source, `letter-${at}`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'dublin_core.xml'),
    `<?xml version="1.0" encoding="UTF-8"?>
<dublin_core schema="dc">
  <dcvalue element="title" qualifier="none" language="en">Letter ${at} to a friend</dcvalue>
  <dcvalue element="contributor" qualifier="author">Author ${at % 97}</dcvalue>
  <dcvalue element="date" qualifier="issued">${1800 + (at % 150)}</dcvalue>
  <dcvalue element="type" qualifier="none">Letter</dcvalue>
</dublin_core>
`,
  )
  writeFileSync(join(folder, 'contents'), fileNames.map(name => `${name}\n`).join(''))
  for (const name of fileNames) writeFileSync(join(folder, name), `${name} of ${at} `.repeat(200))
}

/** The baseline only writes, syncs and renames the same number of files, 16 at a time. */
async function bare(): Promise<number> {
  const folder = scratch()
  const content = randomBytes(3_600)
  await mkdir(join(folder, 'incoming'))
  const start = performance.now()
  let left = items * fileNames.length
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (left-- > 0) {
        const name = randomUUID()
        const file = await open(join(folder, 'incoming', name), 'wx')
        await file.writeFile(content)
        await file.sync()
        await file.close()
        await rename(join(folder, 'incoming', name), join(folder, name))
      }
    }),
  )
  return items / ((performance.now() - start) / 1000)
}

function ingest(dataFolder: string): number {
  const start = performance.now()
  const { status, stderr } = spawnSync(process.execPath, [entry, 'ingest', source], {
    env: { ...process.env, CARREL_DATA: dataFolder },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stderr)
  return items / ((performance.now() - start) / 1000)
}

const first: number[] = []
const again: number[] = []
const baselines: number[] = []
for (let round = 0; round < 3; round++) {
  const dataFolder = scratch()
  baselines.push(await bare())
  first.push(ingest(dataFolder))
  again.push(ingest(dataFolder))
}
console.log(
  `ingest of ${items.toLocaleString('en')} items with three small files: ${median(first).toFixed(0)} items/s ` +
    `(${(median(first) / median(baselines)).toFixed(2)} of writing, syncing and renaming the files alone, ` +
    `${median(baselines).toFixed(0)}), unchanged items again ${median(again).toFixed(0)} items/s`,
)
