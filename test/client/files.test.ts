import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { openAsBlob, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { download, downloadLink } from '../../packages/client/src/downloads.ts'
import { fileNameIn } from '../../packages/client/src/file-name.ts'
import { CarrelNetworkError } from '../../packages/client/src/index.ts'
import { uploadFile, uploadInPieces } from '../../packages/client/src/uploads.ts'
import { root, ruth, startClientWorld } from '../support/clients/carrel-client.ts'
import { addItem, anyEperson } from '../support/data/repository.ts'
import { test } from '../support/service/engines.ts'
import { temporaryFolder } from '../support/service/service.ts'
import { inTime, shortLife } from '../support/service/waiting.ts'

const size = 3_000_000
const content = randomBytes(size)
const name = 'Zoë’s letter; "a".txt'

async function withFile(t: TestContext) {
  const world = await startClientWorld(t)
  const { files, uuid: item } = await addItem(world.service, {
    identifier: 'demo/1',
    readers: anyEperson,
    files: [{ name, content, mimeType: 'text/plain' }],
  })
  const bitstream = files.get(name)?.uuid ?? ''
  return { ...world, bitstream, item }
}

const contents = /\/content/

test('CL9 a file is downloaded by a short-lived token, with its name and progress', async t => {
  const { bitstream, line, openAs } = await withFile(t)
  const client = await openAs(ruth)
  const told: number[] = []
  const file = await download(client, bitstream, {
    onProgress: ({ done, total }) => {
      assert.equal(total, size)
      told.push(done)
    },
  })
  assert.deepEqual([file.name, file.size, file.type], [name, size, 'text/plain; charset=utf-8'])
  assert.deepEqual(await buffer(file.stream), content)
  assert.equal(told.at(-1), size)
  assert.deepEqual(
    told.toSorted((a, b) => a - b),
    told,
  )
  const asked = line.requests.find(({ path }) => contents.test(path))
  assert.match(asked?.path ?? '', /authentication-token=ey/)
  assert.equal(asked?.headers.authorization, undefined)
})

test('CL9 a file is called what the service calls it, however plain its name is', async t => {
  const { service, openAs } = await startClientWorld(t)
  // A plain name is sent without quotes.
  const names = [
    ...['a.txt', 'letter-1.pdf', 'README', 'archive.tar.gz', 'scan_007.jpg', '.profile', "it's.txt", '1'],
    ...[
      'two words.txt',
      'semi;colon.txt',
      '100%.txt',
      'a%20b.txt',
      'Größe.txt',
      '手紙.txt',
      'a"b".txt',
      'a=b',
    ],
  ]
  const { files } = await addItem(service, {
    identifier: 'demo/names',
    readers: anyEperson,
    files: names.map(name => ({ name, content: Buffer.from(name) })),
  })
  const client = await openAs(ruth)
  const found = []
  for (const name of names) {
    const { name: called, stream } = await download(client, files.get(name)?.uuid ?? '')
    await stream.cancel()
    found.push(called)
  }
  assert.deepEqual(found, names)
})

test('CL9 a name is read from any `Content-Disposition`, without folders and what can’t be seen', () => {
  for (const [header, name] of [
    ['attachment; filename=plain.txt', 'plain.txt'],
    ['attachment;filename = spaced.txt ; size=1', 'spaced.txt'],
    ['inline; FILENAME="Quoted \\"name\\".txt"', 'Quoted "name".txt'],
    ["attachment; filename*=UTF-8''Gr%C3%B6%C3%9Fe.txt", 'Größe.txt'],
    ["attachment; filename*=utf-8'de'Gr%C3%B6%C3%9Fe.txt; filename=Grosse.txt", 'Größe.txt'],
    ['attachment; filename="Grosse.txt"; filename*=ISO-8859-1\'\'Gr%F6%DFe.txt', 'Größe.txt'],
    // The encoded name can't be decoded.
    ["attachment; filename=plain.txt; filename*=UTF-8''%FF%.txt", 'plain.txt'],
    ["attachment; filename=plain.txt; filename*=KOI8-R''%C1.txt", 'plain.txt'],
    ['attachment; filename=plain.txt; filename*=nothing', 'plain.txt'],
    // Unencoded bytes in UTF-8 or ISO-8859-1.
    ['attachment; filename="Gr\u00c3\u00b6\u00c3\u009fe.txt"', 'Größe.txt'],
    ['attachment; filename="Gr\u00f6\u00dfe.txt"', 'Größe.txt'],
    // Only the last part of a path, with the separators of every system.
    ['attachment; filename="../../etc/passwd"', 'passwd'],
    ['attachment; filename=C:\\Windows\\system.ini', 'system.ini'],
    ["attachment; filename*=UTF-8''..%2F..%2Fa%5Cb.txt", 'b.txt'],
    ["attachment; filename*=UTF-8''a%0D%0Ab%00%E2%80%AEtxt.exe", 'abtxt.exe'],
    // Values without a usable name.
    ['attachment; filename=".."', undefined],
    ['attachment; filename="folder/"', undefined],
    ['attachment; filename=', undefined],
    ['attachment; filename="never ends', undefined],
    ["attachment; filename*=UTF-8''%FF", undefined],
    ['attachment; notfilename=a.txt', undefined],
    ['attachment', undefined],
    ['', undefined],
  ] as const)
    assert.equal(fileNameIn(header), name, header)
})

test('CL9 a download goes on where the line broke, as often as bytes come', async t => {
  const { bitstream, line, openAs } = await withFile(t)
  const client = await openAs(ruth)
  const ranges: (string | undefined)[] = []
  line.fault = ({ path, headers }) => {
    if (!contents.test(path)) return undefined
    ranges.push(headers.range)
    return ranges.length < 4 ? { answerBreaksAfter: 500_000 } : undefined
  }
  const file = await download(client, bitstream)
  assert.deepEqual(await buffer(file.stream), content)
  assert.equal(ranges[0], undefined)
  assert.equal(ranges.length, 4)
  assert.ok(ranges.slice(1).every(range => /^bytes=[1-9]\d*-$/.test(range ?? '')))
})

test('CL9 a line that stays down is an error, and so is a file that was replaced meanwhile', async t => {
  const { bitstream, line, openAs } = await withFile(t)
  const client = await openAs(ruth)
  line.fault = ({ path }) => (contents.test(path) ? { answerBreaksAfter: 0 } : undefined)
  const never = await download(client, bitstream, { attempts: 1 })
  await assert.rejects(buffer(never.stream), CarrelNetworkError)

  line.fault = () => undefined
  await assert.rejects(download(client, bitstream, { from: { bytes: 10, etag: '"another"' } }), {
    code: 'file-changed',
  })
  const { etag } = await download(client, bitstream)
  const rest = await download(client, bitstream, { from: { bytes: size - 10, etag } })
  assert.equal(rest.size, size)
  assert.deepEqual(await buffer(rest.stream), content.subarray(size - 10))
})

test('CL9 who may not have a file is told so, and a signal ends a download', async t => {
  const { bitstream, open, openAs } = await withFile(t)
  await assert.rejects(download(open(), bitstream), { code: 'authentication-required' })
  const client = await openAs(ruth)
  const ending = new AbortController()
  const file = await download(client, bitstream, { signal: ending.signal })
  const reader = file.stream.getReader()
  await reader.read()
  ending.abort(new Error('no longer needed'))
  await assert.rejects(async () => {
    while (!(await reader.read()).done);
  }, /no longer needed/)
  assert.ok(client.session, 'the session goes on')
})

test('CL9 a link opens a file without a header', async t => {
  const { bitstream, openAs } = await withFile(t)
  const client = await openAs(ruth)
  const response = await inTime(shortLife, async () => {
    const response = await fetch(await downloadLink(client, bitstream))
    assert.equal(response.status, 200)
    return response
  })
  assert.deepEqual(Buffer.from(await response.arrayBuffer()), content)
})

test('CL10 a file is uploaded as a stream, with progress, and repeated with a new pair', async t => {
  const { item, line, openAs } = await withFile(t)
  const client = await openAs(root)
  const path = join(temporaryFolder(t), 'large.bin')
  writeFileSync(path, content)
  const { uuid } = await client.post<{ uuid: string }>(`/api/core/items/${item}/bundles`, {
    json: { name: 'EXTRA' },
  })
  let spoilt = false
  line.fault = ({ path, headers }) => {
    if (!path.endsWith('/bitstreams') || spoilt) return undefined
    spoilt = true
    headers['x-xsrf-token'] = 'stale'
    return undefined
  }
  const told: number[] = []
  const added = await uploadFile<{
    uuid: string
    name: string
    sizeBytes: number
    checkSum: { value: string }
  }>(client, uuid, await openAsBlob(path), {
    name,
    metadata: { 'dc.description': [{ value: 'Random' }] },
    onProgress: ({ done, total }) => {
      assert.equal(total, size)
      told.push(done)
    },
  })
  assert.deepEqual([added.name, added.sizeBytes], [name, size])
  assert.ok(spoilt && told.length > 2 && told.at(-1) === size)
  const file = await download(client, added.uuid)
  assert.deepEqual(await buffer(file.stream), content)
})

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

test('CL10 an upload in pieces goes on after broken lines, and can be resumed later', async t => {
  const { item, line, openAs } = await withFile(t)
  const client = await openAs(root)
  const file = new File([content], name)
  let broken = 0
  line.fault = ({ method, path }) =>
    method === 'PATCH' && path.includes('/uploads/') && broken++ < 3
      ? { requestBreaksAfter: 300_000 }
      : undefined
  const told: number[] = []
  const id = await uploadInPieces(client, file, {
    pieceSize: 1_000_000,
    onProgress: ({ done }) => told.push(done),
  })
  assert.ok(broken > 3)
  assert.equal(told.at(-1), size)

  const { uuid } = await client.post<{ uuid: string }>(`/api/core/items/${item}/bundles`, {
    json: { name: 'EXTRA' },
  })
  const added = await client.post<{ uuid: string }>(`/api/core/bundles/${uuid}/bitstreams`, {
    query: { upload: id },
  })
  assert.equal(sha256(await buffer((await download(client, added.uuid)).stream)), sha256(content))

  // A page is closed during the upload, and another one resumes it.
  const closing = new AbortController()
  let begun = ''
  await assert.rejects(
    uploadInPieces(client, file, {
      pieceSize: 500_000,
      signal: closing.signal,
      onBegun: id => {
        begun = id
      },
      onProgress: ({ done }) => {
        if (done >= 1_000_000) closing.abort(new Error('closed'))
      },
    }),
    /closed/,
  )
  line.requests.length = 0
  assert.equal(await uploadInPieces(client, file, { resume: begun }), begun)
  const [first] = line.requests.filter(({ method }) => method === 'PATCH')
  // The first piece had arrived completely, and any part of the second.
  assert.ok(Number(first?.headers['upload-offset']) >= 500_000)
})

test('CL10 an upload that is refused is not tried again', async t => {
  const { line, open, openAs } = await withFile(t)
  const reader = await openAs(ruth)
  await assert.rejects(uploadInPieces(reader, new File(['a'], 'a')), { code: 'access-denied' })
  assert.equal(line.count('POST', '/api/uploads'), 1)
  await assert.rejects(uploadInPieces(open(), new File(['a'], 'a')), { status: 401 })
})

test('CL10 nothing of an upload is sent once the check before requests refuses', async t => {
  const { item, line, openAs } = await withFile(t)
  let isOver = false
  const beforeRequest = () => {
    if (isOver) throw new Error('over')
  }
  const client = await openAs(root, { beforeRequest })
  const { uuid } = await client.post<{ uuid: string }>(`/api/core/items/${item}/bundles`, {
    json: { name: 'EXTRA' },
  })
  const file = new File([content], 'large.bin')
  const sent = line.requests.length
  isOver = true
  await assert.rejects(uploadFile(client, uuid, file), /over/)
  await assert.rejects(uploadInPieces(client, file, { attempts: 0 }), /over/)
  // An upload that has begun sends no further piece.
  isOver = false
  const pieces = uploadInPieces(client, file, {
    attempts: 0,
    onBegun: () => {
      isOver = true
    },
  })
  await assert.rejects(pieces, /over/)
  const more = line.requests.slice(sent).map(({ method, path }) => `${method} ${path}`)
  assert.deepEqual(more, ['POST /api/uploads'])
})
