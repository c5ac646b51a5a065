import { spawnSync } from 'node:child_process'
import { randomFillSync } from 'node:crypto'
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { scratch } from './support/folder.ts'
import { entry } from './support/processes.ts'

/**
 * Backs up items with 2 GB of files twice, adds a few files, backs up again, verifies and restores, each in a
 * process of its own. `node bench/backup.ts 500` uses 10 GB of files, and needs 55 GB of disk.
 */
const items = Number(process.argv[2] ?? 100)
const filesOfItem = 10
const fileSize = 2 * 1024 * 1024
const added = 5

const source = join(scratch(), 'scans')
const bytes = Buffer.alloc(fileSize)

function writeItem(folder: string): void {
  mkdirSync(folder, { recursive: true })
  const title = `<dcvalue element="title">${folder.length}</dcvalue>`
  writeFileSync(join(folder, 'dublin_core.xml'), `<dublin_core schema="dc">${title}</dublin_core>`)
  const names = Array.from({ length: filesOfItem }, (_, at) => `scan-${at}.tif`)
  writeFileSync(join(folder, 'contents'), names.map(name => `${name}\n`).join(''))
  for (const name of names) writeFileSync(join(folder, name), randomFillSync(bytes))
}

/** Runs a command. @returns its time in seconds, and its output */
function carrel(dataFolder: string, ...args: string[]): { seconds: number; said: string } {
  const start = performance.now()
  const { status, stdout, stderr } = spawnSync(process.execPath, [entry, ...args], {
    env: { ...process.env, CARREL_DATA: dataFolder },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(stdout + stderr)
  return { seconds: (performance.now() - start) / 1000, said: stdout }
}

const dataFolder = scratch()
for (let at = 0; at < items; at++) writeItem(join(source, `item-${at}`))
carrel(dataFolder, 'ingest', source)
const gigabytes = (items * filesOfItem * fileSize) / 1e9

/** The baseline copies the files and has the system write them to disk. */
const start = performance.now()
cpSync(join(dataFolder, 'files'), join(scratch(), 'files'), { recursive: true })
spawnSync('sync')
const bare = (performance.now() - start) / 1000

const folder = join(scratch(), 'backups')
const first = carrel(dataFolder, 'backup', folder)
const second = carrel(dataFolder, 'backup', folder, '--json')
for (let at = 0; at < added; at++) writeItem(join(source, `new-${at}`))
carrel(dataFolder, 'ingest', source)
const third = carrel(dataFolder, 'backup', folder, '--json')
const verified = carrel(dataFolder, 'backup', 'verify', folder)
const restored = carrel(scratch(), 'restore', folder)
const copied = ({ said }: { said: string }) =>
  (JSON.parse(said) as { copied: { count: number } }).copied.count
console.log(
  `backup of ${gigabytes.toFixed(1)} GB in ${items * filesOfItem} files: ${first.seconds.toFixed(1)} s ` +
    `(${(first.seconds / bare).toFixed(2)} of copying and syncing them, ${bare.toFixed(1)} s); again ` +
    `${second.seconds.toFixed(1)} s, ${copied(second)} files copied; after ${added * filesOfItem} new files ` +
    `${third.seconds.toFixed(1)} s, ${copied(third)} copied; verify ${verified.seconds.toFixed(1)} s, ` +
    `restore ${restored.seconds.toFixed(1)} s`,
)
