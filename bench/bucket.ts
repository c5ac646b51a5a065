import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { closeSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { startCeph } from '../test/products/ceph.ts'
import { freePort } from '../test/support/service/postgres-server.ts'
import { scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { memory, startCarrel, threadsTime } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'

/**
 * Uploads and downloads one file by curl: through Carrel into a bucket of Ceph, and straight to the same bucket. Needs the
 * Debian packages ceph-mon, ceph-osd, radosgw and curl.
 */
const size = Number(process.env.BENCH_BYTES ?? 256 * 1024 ** 2)
const rounds = Number(process.env.BENCH_ROUNDS ?? 5)

const folder = scratch()
const source = join(folder, 'source')
const answer = join(folder, 'answer')
// Each upload is there under two keys for a moment.
const room = (2 * rounds + 2) * size + 2 ** 30
const ceph = await startCeph(scratch(), [await freePort(), await freePort()], room)
const key = { AWS_ACCESS_KEY_ID: ceph.accessKeyId, AWS_SECRET_ACCESS_KEY: ceph.secretAccessKey }
const signed = [
  ...['--aws-sigv4', 'aws:amz:us-east-1:s3', '--user', `${ceph.accessKeyId}:${ceph.secretAccessKey}`],
  ...['-H', 'x-amz-content-sha256: UNSIGNED-PAYLOAD'],
]
const bucket = `${ceph.address}/files`
curl(...signed, '-X', 'PUT', bucket)

addPerson(folder, true)
const service = await startCarrel(folder, {
  ...key,
  CARREL_WORKERS: '1',
  CARREL_FILES: 's3://files',
  CARREL_FILES_ENDPOINT: ceph.address,
})
const { token, cookie, csrf } = await logIn(service.address)
const headers = ['-H', `Authorization: Bearer ${token}`, '-b', cookie, '-H', `X-XSRF-TOKEN: ${csrf}`]
const item = add('/api/core/items', { metadata: {} })
const bundle = add(`/api/core/items/${item}/bundles`, { name: 'ORIGINAL' })

const times = { up: [] as number[], plainUp: [] as number[], down: [] as number[], plainDown: [] as number[] }
const work = { up: 0, down: 0 }
for (let round = 0; round < rounds; round++) {
  writeRandom()
  times.plainUp.push(curl(...signed, '-T', source, `${bucket}/plain`))
  let before = threadsTime(service.pid)
  const files = `${service.address}/api/core/bundles/${bundle}/bitstreams`
  times.up.push(curl(...headers, '-F', `file=@${source};filename=${round}.bin`, files))
  work.up += threadsTime(service.pid) - before
  const { uuid } = JSON.parse(readFileSync(answer, 'utf8')) as { uuid: string }
  times.plainDown.push(curl(...signed, `${bucket}/plain`))
  before = threadsTime(service.pid)
  times.down.push(curl(...headers, `${service.address}/api/core/bitstreams/${uuid}/content`))
  work.down += threadsTime(service.pid) - before
  if (statSync(answer).size !== size) throw new Error('the download is not complete')
}
for (const [name, through, plain, processor] of [
  ['upload', times.up, times.plainUp, work.up],
  ['download', times.down, times.plainDown, work.down],
] as const) {
  const speed = (all: readonly number[]) => size / 1e6 / median(all)
  console.log(
    `${name} of ${size} bytes: ${(speed(through) / speed(plain)).toFixed(2)} of curl alone ` +
      `(${speed(through).toFixed(0)} and ${speed(plain).toFixed(0)} MB/s; ${(processor / rounds).toFixed(2)} s of Carrel's processor time)`,
  )
}
console.log(`Carrel's memory is at most ${Math.round(memory(service.pid).peak)} MB`)
await service.stop()
await ceph.stop()

/** Runs curl, and keeps the answer. @returns the time that it took in s */
function curl(...args: readonly string[]): number {
  const said = execFileSync('curl', ['-sSf', '-o', answer, '-w', '%{time_total}', ...args], {
    encoding: 'utf8',
  })
  return Number(said)
}

/** @returns the UUID of what was added */
function add(path: string, body: object): string {
  const type = ['-H', 'Content-Type: application/json']
  curl(...headers, ...type, '-d', JSON.stringify(body), service.address + path)
  return (JSON.parse(readFileSync(answer, 'utf8')) as { uuid: string }).uuid
}

function writeRandom(): void {
  const file = openSync(source, 'w')
  const block = randomBytes(1024 ** 2)
  for (let written = 0, at = 0; written < size; at++) {
    block.writeUInt32BE(at)
    written += writeSync(file, block, 0, Math.min(block.length, size - written))
  }
  closeSync(file)
}
