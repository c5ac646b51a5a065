import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import type { Page as Tab } from 'playwright-core'
import { root } from '../support/clients/carrel-client.ts'
import { makeClient, startPageWorld, type Window } from '../support/clients/client-pages.ts'
import { addItem, anyEperson } from '../support/data/repository.ts'
import { test } from '../support/service/engines.ts'
import { passwordOf } from '../support/service/service.ts'

const size = 3_000_000
/** Content that page and test generate alike: a different number in each four bytes. */
const content = Buffer.from(Uint32Array.from({ length: size / 4 }, (_, n) => n * 2_654_435_761).buffer)
const sha256 = createHash('sha256').update(content).digest('hex')

const logIn = (tab: Tab) =>
  tab.evaluate(([user, password]) => (window as unknown as Window).client.login(user, password), [
    root,
    passwordOf(root),
  ] as const)

async function started(t: Parameters<typeof startPageWorld>[0]) {
  const world = await startPageWorld(t)
  const { files, uuid: item } = await addItem(world.service, {
    identifier: 'demo/1',
    readers: anyEperson,
    files: [{ name: 'Zoë.bin', content }],
  })
  const tab = await world.open('other')
  await makeClient(tab, world.line.address)
  await logIn(tab)
  return { ...world, tab, item, bitstream: files.get('Zoë.bin')?.uuid ?? '' }
}

test('CL9 a page downloads a file with progress, over a line that breaks', async t => {
  const { bitstream, line, tab } = await started(t)
  let asked = 0
  line.fault = ({ method, path }) =>
    method === 'GET' && path.includes('/content') && asked++ < 3 ? { answerBreaksAfter: 700_000 } : undefined
  const seen = await tab.evaluate(async bitstream => {
    const { carrel, client } = window as unknown as Window
    const told: number[] = []
    const file = await carrel.download(client, bitstream, { onProgress: ({ done }) => told.push(done) })
    const bytes = await new Response(file.stream).arrayBuffer()
    return { name: file.name, size: file.size, last: told.at(-1), first: told[0], bytes: bytes.byteLength }
  }, bitstream)
  assert.deepEqual(
    { ...seen, first: undefined },
    { name: 'Zoë.bin', size, last: size, first: undefined, bytes: size },
  )
  assert.ok(asked >= 4 && Number(seen.first) < size)
})

test('CL9 a page writes a file to a stream, and makes a link to it', async t => {
  const { bitstream, tab } = await started(t)
  const seen = await tab.evaluate(async bitstream => {
    const { carrel, client } = window as unknown as Window
    let written = 0
    const { stream } = await carrel.download(client, bitstream)
    await stream.pipeTo(
      new WritableStream({
        write: piece => {
          written += piece.length
        },
      }),
    )
    return { written, link: await carrel.downloadLink(client, bitstream) }
  }, bitstream)
  assert.equal(seen.written, size)
  const response = await fetch(seen.link)
  assert.equal(
    createHash('sha256')
      .update(Buffer.from(await response.arrayBuffer()))
      .digest('hex'),
    sha256,
  )
})

test('CL10 a page uploads a file in one request, and in pieces over a line that breaks', async t => {
  const { item, line, tab } = await started(t)
  let broken = 0
  line.fault = ({ method, path }) =>
    method === 'PATCH' && path.includes('/uploads/') && broken++ < 2
      ? { requestBreaksAfter: 300_000 }
      : undefined
  const seen = await tab.evaluate(
    async ([item, size]) => {
      const { carrel, client } = window as unknown as Window
      const numbers = Uint32Array.from({ length: size / 4 }, (_, n) => n * 2_654_435_761)
      const file = new File([numbers], 'Größe.bin')
      const { uuid } = await client.post<{ uuid: string }>(`/api/core/items/${item}/bundles`, {
        json: { name: 'EXTRA' },
      })
      const told: { whole: number[]; pieces: number[] } = { whole: [], pieces: [] }
      const whole = await carrel.uploadFile(client, uuid, file, {
        onProgress: ({ done }) => told.whole.push(done),
      })
      const id = await carrel.uploadInPieces(client, file, {
        pieceSize: 1_000_000,
        onProgress: ({ done }) => told.pieces.push(done),
      })
      const pieces = await client.post<{ checkSum: { value: string }; sizeBytes: number }>(
        `/api/core/bundles/${uuid}/bitstreams`,
        { query: { upload: id }, json: { name: 'pieces.bin' } },
      )
      return { whole, pieces, last: [told.whole.at(-1), told.pieces.at(-1)], name: whole.name }
    },
    [item, size] as const,
  )
  assert.deepEqual(seen.last, [size, size])
  assert.equal(seen.name, 'Größe.bin')
  assert.deepEqual([seen.whole.sizeBytes, seen.pieces.sizeBytes], [size, size])
  assert.ok(broken > 2)
})

test('CL10 a page ends an upload', async t => {
  const { item, tab } = await started(t)
  const said = await tab.evaluate(async item => {
    const { carrel, client } = window as unknown as Window
    const { uuid } = await client.post<{ uuid: string }>(`/api/core/items/${item}/bundles`, {
      json: { name: 'EXTRA' },
    })
    const ending = new AbortController()
    const file = new File([new Uint8Array(20_000_000)], 'large.bin')
    return carrel
      .uploadFile(client, uuid, file, {
        signal: ending.signal,
        onProgress: () => ending.abort(new Error('no longer needed')),
      })
      .catch(error => error.message)
  }, item)
  assert.equal(said, 'no longer needed')
})

test('CL11 a page of another origin follows a process', async t => {
  const { tab } = await started(t)
  const states = await tab.evaluate(async () => {
    const { carrel, client } = window as unknown as Window
    const { processId } = await carrel.startProcess(client, 'verify')
    const states: string[] = []
    for await (const event of carrel.followProcess(client, processId))
      if (event.event !== 'log') states.push(event.state)
    return states
  })
  assert.equal(states.at(-1), 'completed')
})
