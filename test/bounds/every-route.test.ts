import assert from 'node:assert/strict'
import { everything, type World } from '../support/data/every-route.ts'
import { isLong } from '../support/scale.ts'
import { test } from '../support/service/engines.ts'
import { isOpen, type StatedRoute } from '../support/service/routes.ts'

const nested = (open: string, close: string, depth: number) => `${open.repeat(depth)}1${close.repeat(depth)}`
const [nul, half] = ['\\u0000', '\\ud800']
const member = (text: string) =>
  `{"message":"${text}","name":"${text}","email":"${text}@b","active":true,"description":"${text}",` +
  `"metadata":{"dc.title":[{"value":"${text}","language":"${text}"}],"eperson.firstname":[{"value":"${text}"}]}}`
const operation = (path: string, value: string) => `[{"op":"add","path":"${path}","value":${value}}]`
const part = (headers: string, content: string) => `--b\r\n${headers}\r\n\r\n${content}\r\n`
const disposition = 'Content-Disposition: form-data;'

/** Wrong bodies by media type. */
const bodies: Readonly<Record<string, readonly (string | Uint8Array<ArrayBuffer>)[]>> = {
  'application/json': [
    '',
    'null',
    '[]',
    '1e999',
    nested('[', ']', 5_000),
    nested('{"a":', '}', 3_000),
    member(nul),
    member(half),
    '{"__proto__":{"a":1},"constructor":{"prototype":{}},"metadata":{"__proto__":[{"value":"x"}]}}',
    '{"message":"x","active":1e400,"countdownTo":"+275760-09-13T00:00:00Z"}',
    '{"key":["id"],"fields":["id","a\\tb"],"defaultCondition":["=","id","\\u0000"]}',
    `{"defaultCondition":["~","id","${'('.repeat(500)}a${')+'.repeat(500)}$"]}`,
    Uint8Array.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    '{"id":1,"n":12345678901234567890.5}',
  ],
  'application/json-patch+json': [
    JSON.stringify(Array.from({ length: 10_000 }, () => ({ op: 'test', path: '', value: 1 }))),
    operation('/__proto__/x', '1'),
    operation('/metadata/__proto__', '[{"value":"x"}]'),
    operation('/constructor/prototype/y', '1'),
    operation('', 'null'),
    operation('/name', `"${nul}"`),
    operation('/description', `"${half}"`),
    operation('/email', `"a${half}@b"`),
    operation('/metadata/dc.title/-', `{"value":"${nul}"}`),
    operation(`/${'x/'.repeat(5_000)}`, '1'),
    operation('/metadata/dc.title/9007199254740993', '{"value":"x"}'),
    '[{"op":"remove","path":""}]',
    '[{"op":"move","from":"/metadata/dc.title/0","path":"/metadata/dc.title/0/value"}]',
    '[{"op":"move","from":"/_links/bitstreams/99999/href","path":"/_links/bitstreams/0/href"}]',
  ],
  'application/merge-patch+json': [
    '{"__proto__":{"x":1}}',
    '{"name":{"__proto__":null}}',
    nested('{"a":', '}', 3_000),
  ],
  'text/uri-list': [
    'http://169.254.169.254/latest/meta-data',
    'file:///etc/passwd',
    `http://x/api/eperson/groups/${'9'.repeat(5_000)}`,
    `${'http://x/api/eperson/epersons/00000000-0000-4000-8000-000000000000\n'.repeat(200)}`,
  ],
  'multipart/form-data; boundary=b': [
    part(`${disposition} name="properties"`, `[{"name":"-c","value":"\0x"}]`),
    `${part(`${disposition} name="file"; filename="\0../../x"`, 'hello')}--b--\r\n`,
    part(`${disposition} name="file"; filename="x"`, 'hello'),
    `--b\r\n${'A: b\r\n'.repeat(5_000)}`,
    `${part(`${disposition} name="x"`, 'y').repeat(3_000)}--b--\r\n`,
    `${part(`${disposition} name="properties"`, member(nul))}${part(`${disposition} name="file"; filename="x"`, 'hello')}--b--\r\n`,
    `${part(`${disposition} name="__proto__"`, '{}')}--b--\r\n`,
  ],
  'multipart/form-data': ['--b--\r\n'],
  'application/offset+octet-stream': ['123456789'],
  'application/zip': ['PK\u0003\u0004'],
  'text/csv': ['a,"b\n'],
}
const questions = [
  'page=9007199254740993&size=9999999999',
  'page=-1&size=0',
  'query=%00&sort=%00&group=%00&uuid=%00&email=%00&object=%00&token=%00&eperson=%00&name=%00&uri=%00&userId=%00',
  'query=%ED%A0%80&email=%ED%A0%80@x&object=%ED%A0%80&id=%ED%A0%80',
  `query=${'x'.repeat(20_000)}&object=${'x'.repeat(20_000)}`,
  'upload=..%2F..%2Fetc%2Fpasswd',
  'read=anonymous&from=9999999-01-01&name=%00',
]
const parameters = [
  '%00',
  '%ED%A0%80',
  '..%2f..',
  '9'.repeat(400),
  '-1',
  '__proto__',
  'constructor',
  '%2e%2e',
]

/** Selects a fifth of the values, a different one at each address; all of them in the long run. */
const some = <T>(all: readonly T[], at: number): readonly T[] =>
  isLong ? all : all.filter((_, n) => (n + at) % 5 === 0)

/** True for refusals that are not about the content of the request. */
const isBusy = (text: string) => /"code":"(busy|no-room)"/.test(text)

async function refused({ admin }: World, { method, url }: StatedRoute, address: string, init: RequestInit) {
  const pair = await admin.csrfPair()
  const headers = { 'x-xsrf-token': pair.value, 'tus-resumable': '1.0.0', ...init.headers }
  const response = await admin.request(address, { method, ...init, headers })
  const text = await response.text()
  const what = `${method} ${url} ${address.slice(0, 150)} ${String(init.body).slice(0, 80)}: ${response.status} ${text}`
  assert.ok(response.status < 500 || isBusy(text), what)
  if (response.status < 400 || text === '') return response.status
  assert.equal(response.headers.get('content-type'), 'application/problem+json', what)
  assert.ok(!/node_modules|src\/|at async/.test(text), what)
  return response.status
}

/** True for routes that would end the session of the tests, or that never end by themselves. */
const isLeftOut = ({ url }: StatedRoute) => /log(in|out)$|\/events$|\/rotate$/.test(url)

/**
 * True for routes that read a body. Queries have tests of their own, and routes for things that Carrel lacks
 * ignore it.
 */
const readsBody = (route: StatedRoute) =>
  !isLeftOut(route) &&
  !/^\/api\/query\/v4(\/[^*]*)?$/.test(route.url) &&
  (!isOpen(route) || route.url.endsWith('/registrations'))

for (const methods of [['POST'], ['PUT', 'PATCH']])
  test(`E1 L7 no body of a ${methods.join(' or ')} that a client could make up is a fault of the service`, async t => {
    const world = await everything(t)
    for (const [at, route] of world.routes.entries()) {
      if (!methods.includes(route.method) || !readsBody(route)) continue
      const query = route.url.endsWith('/resourcepolicies')
        ? `?resource=${world.ids.item}&group=${world.ids.group}`
        : route.url.endsWith('/import')
          ? '?key=id&preview=true'
          : ''
      for (const [type, all] of Object.entries(bodies)) {
        // Each preview of an import is a process of its own, so only media types of records are tried.
        if (route.url.endsWith('/import') && type !== 'text/csv' && type !== 'application/json') continue
        for (const body of some(all, at)) {
          const status = await refused(world, route, world.at(route.url) + query, {
            body,
            headers: { 'content-type': type, 'upload-offset': '0', 'upload-length': '5' },
          })
          // With this media type, no body is read.
          if (status === 415) break
        }
      }
    }
  })

test('E1 Q3 no parameter that a client could make up is a fault of the service, at any address', async t => {
  const world = await everything(t)
  for (const [at, route] of world.routes.entries()) {
    if (isLeftOut(route)) continue
    for (const one of some(parameters, at))
      if (route.url.includes(':'))
        await refused(world, route, route.url.replaceAll(/:\w+/g, one).replace('*', `/${one}`), {
          ...(route.method === 'GET' ? {} : { body: '{}', headers: { 'content-type': 'application/json' } }),
        })
    if (route.method === 'GET' || route.method === 'POST')
      for (const question of some(questions, at))
        await refused(world, route, `${world.at(route.url)}?${question}`, {})
  }
})
