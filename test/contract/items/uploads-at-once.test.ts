import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { change, newItem, read } from '../../support/data/editing.ts'
import { test } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'

/** Returns content that often looks like the beginning of the boundary below, also across pieces. */
function contentOf(seed: number, size: number): Buffer {
  const beginnings = ['\r', '\r\n', '\r\n-', '\r\n--', '\r\n--b', '\r\n--bo', 'x', '-', 'boun\r\n--bound']
  let state = seed
  const next = () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state
  }
  const content = Buffer.alloc(size)
  for (let at = 0; at < size; ) {
    const text =
      next() % 7 === 0 ? String(next()).repeat(next() % 400) : beginnings[next() % beginnings.length]
    at += content.write(text ?? '', at)
  }
  return content
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Streams bytes in pieces of odd sizes, with pauses, so that pieces wait everywhere they can. */
const inPieces = (bytes: Buffer, cut: number): ReadableStream<Uint8Array> => {
  let at = 0
  return new ReadableStream({
    async pull(controller) {
      if (at >= bytes.length) return controller.close()
      const end = at + 1 + ((at * 31 + cut) % 200_000)
      // Copied, because the buffer may be handed over to the network.
      controller.enqueue(Uint8Array.from(bytes.subarray(at, end)))
      at = end
      if (at % 3 === 0) await new Promise(resolve => setImmediate(resolve))
    },
  })
}

test('I7 UP1 files that are sent at once, in forms and in pieces, are each kept as they were', async t => {
  const { addEperson, client } = await startService(t)
  await addEperson('root@example.org', { admin: true })
  const admin = client()
  await admin.login('root@example.org')
  const { bundle } = await newItem(admin)
  const path = `/api/core/bundles/${bundle}/bitstreams`
  const csrf = (await admin.csrfPair()).value
  const send = (url: string, method: string, body: Buffer, cut: number, headers: object) =>
    admin.request(url, {
      method,
      body: inPieces(body, cut),
      duplex: 'half',
      headers: { ...headers, 'x-xsrf-token': csrf },
    } as RequestInit)

  const form = async (n: number) => {
    const content = contentOf(n, 700_000 + n * 99_991)
    const head = `--bounds${n}\r\nContent-Disposition: form-data; name="file"; filename="form-${n}"\r\n\r\n`
    const body = Buffer.concat([Buffer.from(head), content, Buffer.from(`\r\n--bounds${n}--\r\n`)])
    const type = { 'content-type': `multipart/form-data; boundary=bounds${n}` }
    const response = await send(path, 'POST', body, n * 7, type)
    assert.equal(response.status, 201, await response.clone().text())
    return [`form-${n}`, sha256(content)] as const
  }
  const tus = { 'tus-resumable': '1.0.0' }
  const upload = async (n: number) => {
    const content = contentOf(n, 700_000 + n * 77_773)
    const begun = await admin.post('/api/uploads', undefined, {
      ...tus,
      'upload-length': String(content.length),
      'upload-metadata': `filename ${btoa(`upload-${n}`)}`,
    })
    const id = begun.headers.get('location')?.split('/').at(-1)
    const type = { ...tus, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' }
    const sent = await send(`/api/uploads/${id}`, 'PATCH', content, n * 11, type)
    assert.deepEqual([sent.status, sent.headers.get('upload-offset')], [204, String(content.length)])
    assert.equal((await change(admin, 'post', `${path}?upload=${id}`, {})).status, 201)
    return [`upload-${n}`, sha256(content)] as const
  }
  const kept = await Promise.all([1, 2, 3, 4, 5].flatMap(n => [form(n), upload(n)]))
  const files = (await read(admin, `${path}?size=20`))._embedded.bitstreams ?? []
  assert.deepEqual(
    Object.fromEntries(files.map(file => [file.name, file.checkSum.value])),
    Object.fromEntries(kept),
  )
})
