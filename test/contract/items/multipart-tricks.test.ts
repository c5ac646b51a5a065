import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { folderOf } from '../../../src/config/files-place.ts'
import { newItem, read } from '../../support/data/editing.ts'
import { testOn } from '../../support/service/engines.ts'
import { startService } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

async function started(t: TestContext) {
  const service = await startService(t)
  const admin = await service.addLoggedIn('root@example.org', { admin: true })
  const item = await newItem(admin)
  const path = `/api/core/bundles/${item.bundle}/bitstreams`
  const csrf = (await admin.csrfPair()).value
  const send = async (body: string, type = 'multipart/form-data; boundary=b') => {
    const response = await admin.request(path, {
      method: 'POST',
      body,
      headers: { 'content-type': type, 'x-xsrf-token': csrf },
    })
    return { status: response.status, text: await response.text() }
  }
  const names = async () => ((await read(admin, path))._embedded.bitstreams ?? []).map(one => one.name)
  const incoming = () => globSync(join(folderOf(service.config.files), 'incoming/*'))
  return { service, admin, path, send, names, incoming }
}

const part = (headers: string, body: string) =>
  `--b\r\nContent-Disposition: form-data; ${headers}\r\n\r\n${body}\r\n`
const file = (name: string, body = 'x') => part(`name="file"; filename="${name}"`, body)
const end = '--b--\r\n'

testOn('sqlite', 'I7 a form that is wrong in any way is refused, and leaves nothing', async t => {
  const { send, names, incoming } = await started(t)
  const refused: readonly (readonly [what: string, status: number, body: string, type?: string])[] = [
    ['no boundary', 415, file('a') + end, 'multipart/form-data'],
    ['an empty boundary', 400, file('a') + end, 'multipart/form-data; boundary='],
    ['another type', 415, 'x', 'text/plain'],
    ['a form of another kind', 415, 'file=x', 'application/x-www-form-urlencoded'],
    ['mixed', 415, file('a') + end, 'multipart/mixed; boundary=b'],
    ['nothing', 400, ''],
    ['no part', 400, end],
    ['another boundary', 400, file('a').replaceAll('--b', '--c') + end.replace('--b', '--c')],
    ['a missing end', 400, file('a')],
    ['a missing end in the middle of a file', 400, part('name="file"; filename="a"', 'x').slice(0, -2)],
    ['a missing end in the middle of a header', 400, '--b\r\nContent-Disposition: form-da'],
    ['two files', 400, file('a') + file('b') + end],
    ['a file of another name', 400, part('name="other"; filename="a"', 'x') + end],
    ['only a field', 400, part('name="properties"', '{}') + end],
    ['a field twice', 400, part('name="x"', '1') + part('name="x"', '2') + file('a') + end],
    [
      'many fields',
      400,
      Array.from({ length: 50 }, (_, n) => part(`name="f${n}"`, '')).join('') + file('a') + end,
    ],
    ['a long field', 400, part('name="properties"', 'x'.repeat(300_000)) + file('a') + end],
    ['no JSON', 400, part('name="properties"', '{') + file('a') + end],
    ['no object', 400, part('name="properties"', '[]') + file('a') + end],
    ['nothing but controls in the name', 422, file('\u0001\u202e') + end],
    ['no name', 422, part('name="file"; filename=""', 'x') + end],
    [
      'a form in a form',
      400,
      `--b\r\nContent-Disposition: form-data; name="file"\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\n\r\nx\r\n--c--\r\n`,
    ],
  ]
  for (const [what, status, body, type] of refused) {
    const answer = await send(body, type)
    assert.equal(answer.status, status, `${what}: ${answer.text}`)
    assert.deepEqual(await names(), [], what)
    assert.deepEqual(incoming(), [], what)
  }
})

testOn('sqlite', 'I7 a form is read whatever its parts are like', async t => {
  const { send, names } = await started(t)
  const headers = Array.from({ length: 200 }, (_, n) => `X-${n}: ${'y'.repeat(200)}`).join('\r\n')
  const taken: readonly (readonly [name: string, body: string])[] = [
    ['after.txt', file('after.txt') + part('name="properties"', '{}') + end],
    ['before.txt', part('name="properties"', '{}') + file('before.txt') + end],
    ['preamble.txt', `preamble\r\n${file('preamble.txt')}${end}epilogue`],
    ['passwd', file('../../../etc/passwd') + end],
    ['win.txt', file('C:\\\\temp\\\\win.txt') + end],
    ['boundary.txt', file('boundary.txt', 'x --b is not the end, nor is \r\n--') + end],
    ['named', part('name="properties"', '{"name": "named"};application/json') + file('x') + end],
    [
      'headers.txt',
      `--b\r\nContent-Disposition: form-data; name="file"; filename="headers.txt"\r\n${headers}\r\n\r\nx\r\n${end}`,
    ],
  ]
  for (const [name, body] of taken) {
    const answer = await send(body)
    assert.equal(answer.status, 201, `${name}: ${answer.text}`)
    assert.ok((await names()).includes(name), `${name}: ${answer.text}`)
  }
})

testOn('sqlite', 'I7 a client that goes away in the middle of a file leaves nothing', async t => {
  const { service, admin, path, names, incoming } = await started(t)
  const { cookie, value } = await admin.csrfPair()
  for (const chunked of [true, false]) {
    const { hostname, port } = new URL(service.address)
    const socket = connect(Number(port), hostname)
    const head = [
      `POST ${path} HTTP/1.1`,
      'Host: service.test',
      `Authorization: Bearer ${admin.token}`,
      `Cookie: ${cookie}`,
      `X-XSRF-TOKEN: ${value}`,
      'Content-Type: multipart/form-data; boundary=b',
      chunked ? 'Transfer-Encoding: chunked' : 'Content-Length: 100000000',
    ].join('\r\n')
    const body = file('a', 'x'.repeat(700_000)).slice(0, -2)
    socket.write(`${head}\r\n\r\n`)
    socket.write(chunked ? `${body.length.toString(16)}\r\n${body}\r\n` : body)
    await until('a file that arrives', incoming, names => names.length === 1)
    socket.destroy()
    await until('no file that arrives', incoming, names => names.length === 0)
  }
  assert.deepEqual(await names(), [])
})

testOn('sqlite', 'I7 a body that stops arriving is given up, and one that goes on slowly is not', async t => {
  const service = await startService(t, { env: { CARREL_REQUEST_TIMEOUT: '1' } })
  const admin = await service.addLoggedIn('root@example.org', { admin: true })
  const { bundle } = await newItem(admin)
  const path = `/api/core/bundles/${bundle}/bitstreams`
  const csrf = (await admin.csrfPair()).value
  const send = (steps: number, last: string) => {
    let step = 0
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (step === 0) controller.enqueue(Buffer.from(file('slow.txt').slice(0, -2)))
        else if (step < steps) controller.enqueue(Buffer.from('.'))
        else if (last === '') return new Promise(() => {})
        else {
          controller.enqueue(Buffer.from(last))
          controller.close()
        }
        step++
        await new Promise(resolve => setTimeout(resolve, 300))
      },
    })
    return admin.request(path, {
      method: 'POST',
      body,
      duplex: 'half',
      headers: { 'content-type': 'multipart/form-data; boundary=b', 'x-xsrf-token': csrf },
    } as RequestInit)
  }
  // A machine that pauses interrupts the body, too; the test then sends it again.
  await until(
    'a body that takes three times as long, and is taken',
    async () => {
      const slow = await send(10, `\r\n${end}`)
      return { status: slow.status, text: await slow.text() }
    },
    ({ status }) => status === 201,
  )
  const stuck = await send(1, '').then(
    response => response.status,
    () => 'reset',
  )
  assert.ok(stuck === 408 || stuck === 'reset', String(stuck))
  assert.equal((await read(admin, path)).page.totalElements, 1)
})
