import { createHash, randomBytes } from 'node:crypto'
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { commandEvent, openStore } from '../src/cli/store.ts'
import { toConfig } from '../src/config/config.ts'
import { folderOf } from '../src/config/files-place.ts'
import { createFileStore } from '../src/files/file-store.ts'
import type { Content } from '../src/model/items.ts'
import type { Readers } from '../src/model/readers.ts'
import { scratch } from './support/folder.ts'
import { head, median } from './support/load.ts'
import { memory, processorTime, type Running, start, startCarrel } from './support/processes.ts'
import { receive } from './support/read.ts'
import { addPerson, logIn } from './support/session.ts'

/** Sends one file of 1 GiB to a fast client, compared with a bare server; then the memory that 200 slow clients cost. */
const size = Number(process.env.BENCH_BYTES ?? 1024 ** 3)
const rounds = 5
const slowReaders = 200

const folder = scratch()
addPerson(folder)
const { content, open, restricted } = await putFiles()
const service = await startCarrel(folder)
const bare = await startScript('bare-file.ts', pathOf(content))

const { token, cookie } = await logIn(service.address)
const bearer = { Authorization: `Bearer ${token}`, Cookie: cookie }
const lease = { Cookie: `${cookie}; ${await leaseOf(restricted, bearer)}` }
for (const [name, path, headers] of [
  ['to an anonymous client', open, { Cookie: cookie }],
  ['with a token', restricted, bearer],
  ['with a lease', restricted, lease],
] as const)
  await compareDelivery(name, head('GET', path, headers))
await bare.stop()

const before = memory(service.pid).now
const readers = await startScript(
  'slow-readers.ts',
  service.address,
  String(slowReaders),
  head('GET', restricted, lease),
)
let peak = 0
for (let n = 0; n < 100; n++) {
  await sleep(100)
  peak = Math.max(peak, memory(service.pid).now)
}
console.log(`${slowReaders} slow readers: memory grew by ${(peak - before).toFixed(0)} MB in total`)
await readers.stop()
await service.stop()

async function compareDelivery(name: string, request: string): Promise<void> {
  const sum = createHash('sha256')
  await receive(service.address, request, chunk => sum.update(chunk))
  if (sum.digest('hex') !== content.sha256)
    throw new Error(`${name}: the response is not the content of the file`)
  await receive(bare.address, request)
  const ratios: number[] = []
  const rates: number[] = []
  const busy: number[] = []
  const idle = memory(service.pid).now
  let peak = 0
  const watch = setInterval(() => {
    peak = Math.max(peak, memory(service.pid).now)
  }, 20)
  for (let round = 0; round < rounds; round++) {
    const baseline = await timed(bare, request)
    const measured = await timed(service, request)
    ratios.push(measured.rate / baseline.rate)
    rates.push(measured.rate)
    busy.push(measured.processor / baseline.processor)
  }
  clearInterval(watch)
  console.log(
    `${(size / 1024 ** 2).toLocaleString('en')} MiB ${name}: ${median(ratios).toFixed(2)} of bare ` +
      `(${median(rates).toFixed(0)} MB/s, ${median(busy).toFixed(2)} of its processor time, memory grew by ${(peak - idle).toFixed(0)} MB, ` +
      `${rounds} rounds ${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}, load ${loadavg()[0]?.toFixed(1)})`,
  )
}

async function timed({ address, pid }: Running, request: string) {
  const processor = processorTime(pid)
  const begun = performance.now()
  const bytes = await receive(address, request)
  if (bytes !== size) throw new Error(`the response has ${bytes} bytes, not ${size}`)
  const seconds = (performance.now() - begun) / 1000
  return { rate: bytes / 1e6 / seconds, processor: processorTime(pid) - processor }
}

/** Adds two items with the same file: one for anonymous callers, one for logged-in epersons. */
async function putFiles() {
  const config = toConfig({ CARREL_DATA: folder })
  const source = join(folder, 'source')
  writeRandom(source)
  mkdirSync(folderOf(config.files), { recursive: true })
  const content = await createFileStore(folderOf(config.files)).keep(source)
  rmSync(source)
  const storage = await openStore(config, { create: true })
  const everybody: Readers = [{ reader: 'anonymous' }]
  const anyEperson: Readers = [{ reader: 'eperson' }]
  const items = [everybody, anyEperson].map((readers, at) => ({
    identifier: `bench/${at}`,
    metadata: {},
    collections: [],
    readers,
    fingerprint: '',
    bitstreams: [
      {
        ...{ bundle: 'ORIGINAL', name: 'large.bin', description: null, readers: null },
        ...{ mimeType: 'application/octet-stream', ...content },
      },
    ],
  }))
  const outcomes = await storage.repository.putItems(items, commandEvent('item.add'), [])
  console.assert(outcomes.every(outcome => outcome === 'added'))
  await storage.close()
  const [open, restricted] = await contentPaths()
  if (open === undefined || restricted === undefined) throw new Error('the items were not added')
  return { content, open, restricted }
}

/** The request paths of the contents of both items. */
async function contentPaths(): Promise<readonly string[]> {
  const { DatabaseSync } = await import('node:sqlite')
  const db = new DatabaseSync(join(folder, 'carrel.db'))
  const rows = db
    .prepare('SELECT b.uuid FROM bitstream b JOIN item i ON i.uuid = b.item ORDER BY i.identifier')
    .all() as { uuid: string }[]
  db.close()
  return rows.map(({ uuid }) => `/api/core/bitstreams/${uuid}/content`)
}

function writeRandom(path: string): void {
  const file = openSync(path, 'wx')
  const block = randomBytes(1024 ** 2)
  for (let written = 0, at = 0; written < size; at++) {
    block.writeUInt32BE(at)
    written += writeSync(file, block, 0, Math.min(block.length, size - written))
  }
  closeSync(file)
}

/** Returns the path at which the file store keeps a content. */
function pathOf({ sha256 }: Content): string {
  return join(
    folderOf(toConfig({ CARREL_DATA: folder }).files),
    sha256.slice(0, 2),
    sha256.slice(2, 4),
    sha256,
  )
}

/** The cookie that the first response sets. */
async function leaseOf(path: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const abort = new AbortController()
  const response = await fetch(service.address + path, { headers, signal: abort.signal })
  abort.abort()
  const lease = response.headers.getSetCookie().find(one => one.startsWith('CARREL-LEASE='))
  return lease?.split(';')[0] ?? ''
}

function startScript(name: string, ...args: readonly string[]): Promise<Running> {
  return start([fileURLToPath(new URL(`support/${name}`, import.meta.url)), ...args], {})
}
