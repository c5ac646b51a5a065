import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { scratch } from './support/folder.ts'
import { median } from './support/load.ts'
import { memory, start, startCarrel, threadsTime } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'

/** Sends one file in a form, compared with a bare server that writes to disk; then the memory that 50 at once cost. */
const size = Number(process.env.BENCH_BYTES ?? 512 * 1024 ** 2)
const rounds = 5
const atOnce = 50
const pausing = 20

const folder = scratch()
addPerson(folder, true)
const service = await startCarrel(folder, { CARREL_WORKERS: '1' })
const bare = await start([fileURLToPath(new URL('support/bare-upload.ts', import.meta.url)), scratch()], {})
const { token, cookie, csrf } = await logIn(service.address)
const headers = { authorization: `Bearer ${token}`, cookie, 'x-xsrf-token': csrf }

const item = await add('/api/core/items', { metadata: {} })
const bundle = await add(`/api/core/items/${item}/bundles`, { name: 'ORIGINAL' })
const path = `/api/core/bundles/${bundle}/bitstreams`
const chunk = randomBytes(1024 * 1024)
let sent = 0
/** A long boundary like curl's, because a longer one can be searched for faster. */
const boundary = `${'-'.repeat(24)}4f2c9a7d51b03e86a1c4d2`

const [ours, theirs]: [number[], number[]] = [[], []]
const [work, theirWork]: [number[], number[]] = [[], []]
for (let round = 0; round < rounds; round++) {
  const begun = [threadsTime(bare.pid), threadsTime(service.pid)] as const
  theirs.push(await send(bare.address, '/', size))
  ours.push(await send(service.address, path, size))
  theirWork.push(threadsTime(bare.pid) - begun[0])
  work.push(threadsTime(service.pid) - begun[1])
}
const megabytes = (times: readonly number[]) => size / 1024 ** 2 / median(times)
const ratio = megabytes(ours) / megabytes(theirs)
console.log(
  `one file of ${size} bytes: ${megabytes(ours).toFixed(0)} MB/s, bare ${megabytes(theirs).toFixed(0)} MB/s: ${ratio.toFixed(2)}; ` +
    `${median(work).toFixed(2)} s of processor time, bare ${median(theirWork).toFixed(2)} s`,
)
await bare.stop()

const before = memory(service.pid).now
let peak = before
let going = true
const watching = (async () => {
  while (going) {
    peak = Math.max(peak, memory(service.pid).now)
    await sleep(20)
  }
})()
await Promise.all(Array.from({ length: atOnce }, () => send(service.address, path, size / 16, pausing)))
going = false
await watching
console.log(`${atOnce} at once: memory grew by ${(peak - before).toFixed(0)} MB`)
await service.stop()

async function add(url: string, body: object): Promise<string> {
  const response = await fetch(service.address + url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return ((await response.json()) as { uuid: string }).uuid
}

/** @param pause in ms after each piece @returns the time in seconds */
async function send(address: string, url: string, bytes: number, pause = 0): Promise<number> {
  const begun = performance.now()
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${sent++}.bin"\r\n\r\n`
  const going = request(address + url, {
    method: 'POST',
    headers: { ...headers, 'content-type': `multipart/form-data; boundary=${boundary}` },
  })
  const answer = new Promise<number>((resolve, reject) => {
    going.once('error', reject)
    going.once('response', response => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
    })
  })
  going.write(head)
  // Each file is different, so that each is written.
  going.write(String(sent))
  for (let left = bytes; left > 0; left -= chunk.length) {
    if (!going.write(chunk)) await new Promise(resolve => going.once('drain', resolve))
    if (pause > 0) await sleep(pause)
  }
  going.end(`\r\n--${boundary}--\r\n`)
  const status = await answer
  if (status !== 201) throw new Error(`the answer was ${status}`)
  return (performance.now() - begun) / 1000
}
