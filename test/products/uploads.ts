import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { administratorOf } from '../support/clients/administrator.ts'
import { Client } from '../support/clients/client.ts'
import { newItem, upload } from '../support/data/editing.ts'
import { atEnd } from '../support/service/at-end.ts'
import type { Service } from '../support/service/service.ts'

/** Limits in MB above the default limits of proxies. */
export const uploadSettings = { CARREL_IMPORT_SIZE: '4', CARREL_UPLOAD_SIZE: '6' }

const megabyte = 1024 * 1024
const tus = { 'tus-resumable': '1.0.0' }

/**
 * Sends a file of an item, a piece of an upload, and records, each larger than 1 MB.
 *
 * @param address of the proxy, with the path of the base URL; the service must have `uploadSettings`
 */
export async function assertUploadsPass(service: Service, address: string): Promise<void> {
  const email = 'uploads@example.org'
  const { uuid } = await service.addEperson(email, { admin: true })
  const client = new Client(address)
  await client.login(email)
  const admin = administratorOf(service, client, uuid)

  const item = await newItem(client)
  const content = new Uint8Array(5 * megabyte).map((_, at) => (at * 7919) % 251)
  const sent = await upload(client, item.bundle, { name: 'scan.bin', content })
  assert.equal(sent.status, 201, JSON.stringify(sent.body))
  assert.equal(sent.body.checkSum.value, createHash('sha256').update(content).digest('hex'))
  const tooLarge = await upload(client, item.bundle, {
    name: 'large.bin',
    content: new Uint8Array(7 * megabyte),
  })
  assert.equal(tooLarge.status, 413)
  assertCarrelRefused(tooLarge.body)

  const begun = await client.post('/api/uploads', undefined, { ...tus, 'upload-length': `${content.length}` })
  assert.equal(begun.status, 201, await begun.text())
  const path = `/api/uploads/${begun.headers.get('location')?.split('/').at(-1)}`
  const piece = await client.patch(path, content, {
    ...tus,
    'upload-offset': '0',
    'content-type': 'application/offset+octet-stream',
  })
  assert.deepEqual([piece.status, piece.headers.get('upload-offset')], [204, `${content.length}`])

  const records = (count: number) =>
    `id,text\n${Array.from({ length: count }, (_, id) => `${id},${'x'.repeat(1000)}`).join('\n')}\n`
  const csv = { 'content-type': 'text/csv' }
  const imported = await admin.imports('/letters/import?key=id', records(3000), csv)
  assert.equal(imported.state, 'completed', JSON.stringify(imported))
  // Without a length, like a program that generates the records while it sends them.
  const inChunks = await admin.imports(
    '/chunks/import?key=id',
    new ReadableStream({
      start: controller => {
        controller.enqueue(new TextEncoder().encode(records(3000)))
        controller.close()
      },
    }),
    csv,
  )
  assert.equal(inChunks.state, 'completed', JSON.stringify(inChunks))
  const refused = await admin.post('/letters/import?key=id', records(5000), csv)
  assert.equal(refused.status, 413)
  assertCarrelRefused(refused.body)
}

const assertCarrelRefused = (body: unknown) =>
  assert.match(JSON.stringify(body), /"type":"[^"]*problems/, 'Carrel says so, not the proxy')

/**
 * Relays requests of a client that knows neither the proxy's name nor its certificate. @returns an http
 * address without a path
 */
export async function relayTo(t: TestContext, port: number, host: string): Promise<string> {
  const relay = createServer((incoming, response) => {
    const { method = '', headers, url = '' } = incoming
    const target = {
      host: '127.0.0.1',
      port,
      servername: host.replace(/:\d+$/, ''),
      rejectUnauthorized: false,
    }
    const onward = httpsRequest({ ...target, method, path: url, headers: { ...headers, host } })
    onward.on('response', (answer: IncomingMessage) => {
      response.writeHead(answer.statusCode ?? 0, answer.rawHeaders)
      answer.pipe(response)
    })
    onward.on('error', () => (response.headersSent ? response.end() : response.destroy()))
    incoming.pipe(onward)
  })
  await new Promise<void>(resolve => relay.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => relay.close().closeAllConnections())
  return `http://127.0.0.1:${(relay.address() as AddressInfo).port}`
}
