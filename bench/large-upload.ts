import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { scratch } from './support/folder.ts'
import { memory, startCarrel, threadsTime } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'

/**
 * Uploads one file of 10 GB, in a form and by tus, and measures the memory. Needs twice the size on disk;
 * BENCH_BYTES overrides the size.
 */
const size = Number(process.env.BENCH_BYTES ?? 10 * 1024 ** 3)
const chunk = randomBytes(1024 * 1024)
const boundary = `${'-'.repeat(24)}4f2c9a7d51b03e86a1c4d2`
const megabytes = String(Math.ceil(size / 1024 ** 2) + 1)

for (const way of ['form', 'tus'] as const) {
  const folder = scratch()
  addPerson(folder, true)
  const service = await startCarrel(folder, {
    CARREL_WORKERS: '1',
    CARREL_UPLOAD_SIZE: megabytes,
    CARREL_UPLOAD_QUOTA: megabytes,
  })
  const { token, cookie, csrf } = await logIn(service.address)
  const headers = { authorization: `Bearer ${token}`, cookie, 'x-xsrf-token': csrf }

  /** Sends a request whose body is its beginning, `fill` random bytes, and its end. */
  async function send(
    method: string,
    url: string,
    more: object,
    [begin = '', end = '']: readonly string[],
    fill = 0,
  ) {
    const going = request(service.address + url, { method, headers: { ...headers, ...more } })
    const answer = new Promise<{ status: number; location: string; text: string }>((resolve, reject) => {
      going.once('error', reject)
      going.once('response', async response => {
        let text = ''
        for await (const piece of response) text += piece
        resolve({ status: response.statusCode ?? 0, location: response.headers.location ?? '', text })
      })
    })
    if (begin !== '') going.write(begin)
    for (let left = fill; left > 0; left -= chunk.length)
      if (!going.write(left < chunk.length ? chunk.subarray(0, left) : chunk))
        await new Promise(resolve => going.once('drain', resolve))
    going.end(end)
    const got = await answer
    if (got.status >= 300) throw new Error(`${url}: ${got.status} ${got.text}`)
    return got
  }
  const json = { 'content-type': 'application/json' }
  const added = async (url: string, body: object) =>
    (JSON.parse((await send('POST', url, json, [JSON.stringify(body)])).text) as { uuid: string }).uuid
  const item = await added('/api/core/items', { metadata: {} })
  const bundle = await added(`/api/core/items/${item}/bundles`, { name: 'ORIGINAL' })
  const files = `/api/core/bundles/${bundle}/bitstreams`

  const before = memory(service.pid).now
  let peak = before
  let going = true
  const watching = (async () => {
    while (going) {
      peak = Math.max(peak, memory(service.pid).now)
      await sleep(50)
    }
  })()
  const begun = performance.now()
  const work = threadsTime(service.pid)
  const seconds = () => ((performance.now() - begun) / 1_000).toFixed(0)
  if (way === 'form') {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="large.bin"\r\n\r\n`
    const type = { 'content-type': `multipart/form-data; boundary=${boundary}` }
    await send('POST', files, type, [head, `\r\n--${boundary}--\r\n`], size)
  } else {
    const tus = { 'tus-resumable': '1.0.0' }
    const begin = {
      ...tus,
      'upload-length': String(size),
      'upload-metadata': `filename ${btoa('large.bin')}`,
    }
    const { location } = await send('POST', '/api/uploads', begin, [])
    const path = new URL(location, service.address).pathname
    const offset = { ...tus, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' }
    await send('PATCH', path, offset, [], size)
    console.log(`tus: sent in ${seconds()} s`)
    await send('POST', `${files}?upload=${path.split('/').at(-1)}`, json, ['{}'])
  }
  const took = seconds()
  going = false
  await watching
  console.log(
    `${size} bytes, ${way}: ${took} s, ${(threadsTime(service.pid) - work).toFixed(1)} s of processor time; ` +
      `memory ${before.toFixed(0)} MB before, at most ${peak.toFixed(0)} MB`,
  )
  await service.stop()
  rmSync(folder, { recursive: true, force: true })
}
