import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { readBuilt } from '../../src/console/routes.ts'
import { addItem, everybody } from '../support/data/repository.ts'
import { startService } from '../support/service/service.ts'

const html = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

test('CO1 a browser gets the console at / and below /console, and a program the links of the API', async t => {
  const { address } = await startService(t)
  const pages = await Promise.all(
    ['/', '/console', '/console/', '/console/entities/letters?page=2', '/server/'].map(path =>
      fetch(address + path, { headers: html }),
    ),
  )
  const texts = await Promise.all(pages.map(page => page.text()))
  for (const page of pages) {
    assert.equal(page.status, 200)
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  }
  assert.equal(new Set(texts).size, 1, 'one page')
  assert.match(texts[0] ?? '', /<base href="\/console\/">/)

  const links = await (await fetch(`${address}/api`)).json()
  for (const accept of ['application/json', '*/*', 'application/hal+json']) {
    const root = await fetch(`${address}/`, { headers: { accept } })
    assert.equal(root.status, 200)
    assert.match(root.headers.get('vary') ?? '', /accept/i)
    assert.deepEqual(await root.json(), links)
  }
})

test('CO1 the console works below the path of the base URL, and asks for queries where they are', async t => {
  const env = {
    CARREL_BASE_URL: 'http://repo.example.edu/a&b',
    CARREL_QUERY_BASE: '/pdb/query/v4',
    CARREL_CSRF_HEADER: 'X-PAIR',
  }
  const { address } = await startService(t, { env })
  for (const path of ['/a&b', '/a&b/', '/a&b/console/items', '/']) {
    const page = await fetch(address + path, { headers: html })
    assert.equal(page.status, 200, path)
    const text = await page.text()
    assert.match(text, /<base href="\/a&amp;b\/console\/">/)
    assert.match(text, /data-query="\/pdb\/query\/v4" data-csrf="X-PAIR"/)
    const [, script = ''] = /<script [^>]*src="\.\/(assets\/[^"]+)"/.exec(text) ?? []
    assert.equal((await fetch(`${address}/a&b/console/${script}`)).status, 200)
  }
})

test('CO1 with CARREL_CONSOLE=false there is nothing at / and below /console', async t => {
  const { address } = await startService(t, { env: { CARREL_CONSOLE: 'false' } })
  for (const path of ['/', '/console', '/console/items', '/console/assets/x.js'])
    assert.equal((await fetch(address + path, { headers: html })).status, 404)
})

test('CO2 the page is asked for at each visit, and costs nothing if it is the same', async t => {
  const { address } = await startService(t)
  const first = await fetch(`${address}/console`, { headers: html })
  assert.equal(first.headers.get('cache-control'), 'no-cache')
  const etag = first.headers.get('etag') ?? ''
  for (const known of [etag, `W/${etag}`]) {
    const again = await fetch(`${address}/console`, { headers: { ...html, 'if-none-match': known } })
    assert.equal(again.status, 304)
    assert.equal(again.headers.get('etag'), etag)
  }
  const head = await fetch(`${address}/console`, { method: 'HEAD', headers: html })
  assert.equal(head.headers.get('content-length'), first.headers.get('content-length'))
})

test('CO2 what the page is made of is kept for ever, and compressed for those who take it', async t => {
  const { address } = await startService(t)
  const text = await (await fetch(`${address}/`, { headers: html })).text()
  const names = [...text.matchAll(/"\.\/(assets\/[^"]+)"/g)].map(([, name]) => name)
  assert.ok(names.length >= 3)
  const get = async (name: string | undefined, encoding: string) => {
    const answer = await fetch(`${address}/console/${name}`, { headers: { 'accept-encoding': encoding } })
    assert.equal(answer.status, 200)
    assert.equal(answer.headers.get('cache-control'), 'public, max-age=31536000, immutable')
    assert.match(answer.headers.get('vary') ?? '', /accept-encoding/i)
    assert.equal(answer.headers.get('x-content-type-options'), 'nosniff')
    return { encoding: answer.headers.get('content-encoding'), body: Buffer.from(await answer.arrayBuffer()) }
  }
  for (const name of names) {
    const plain = await get(name, 'identity')
    assert.equal(plain.encoding, null)
    // fetch has decompressed these.
    for (const encoding of ['br', 'gzip']) {
      const packed = await get(name, encoding)
      assert.equal(packed.encoding, encoding)
      assert.deepEqual(packed.body, plain.body)
    }
    assert.equal((await get(name, 'gzip, br;q=0')).encoding, 'gzip')
    assert.equal((await get(name, 'gzip, deflate, br')).encoding, 'br')
  }
})

test('CO2 no name leads to a file that is not one of the console', async t => {
  const { address } = await startService(t)
  for (const name of [
    'nothing.js',
    '..%2findex.html',
    '%2e%2e%2findex.html',
    '..%5c..%5cpackage.json',
    'index.html',
    'toString',
    '__proto__',
    `${'x'.repeat(5_000)}.js`,
  ])
    assert.equal((await fetch(`${address}/console/assets/${name}`)).status, 404, name.slice(0, 40))
})

test('CO2 files are sent as they were built, and one that was not built is said to be missing', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-test-built-'))
  assert.equal(readBuilt(folder), undefined)
  const built = readBuilt(join(import.meta.dirname, '../../console/dist'))
  const [, script = ''] = /src="\.\/assets\/([^"]+)"/.exec(built?.page ?? '') ?? []
  const plain = await built?.assets(script, [])
  const packed = { br: brotliDecompressSync, gzip: gunzipSync }
  for (const encoding of ['br', 'gzip'] as const) {
    const asset = await built?.assets(script, [encoding])
    assert.equal(asset?.encoding, encoding)
    assert.deepEqual(packed[encoding](asset?.body ?? Buffer.alloc(0)), plain?.body)
  }
  writeFileSync(join(folder, 'index.html'), '')
  assert.equal(readBuilt(folder), undefined, 'a page without its files')
  for (const name of ['assets', 'client']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'assets', 'a.js'), '1')
  const older = readBuilt(folder)
  assert.equal(String((await older?.assets('a.js', []))?.body), '1')
  rmSync(join(folder, 'assets', 'a.js'))
  assert.equal(await older?.assets('a.js', []), undefined, 'built while the service runs')
})

test('CL15 the modules of the client are sent to pages of any origin, and no other file is', async t => {
  const { address } = await startService(t)
  const module = await fetch(`${address}/console/client/index.js`, {
    headers: { origin: 'https://pages.example' },
  })
  assert.equal(module.status, 200)
  assert.match(module.headers.get('content-type') ?? '', /^text\/javascript/)
  assert.equal(module.headers.get('access-control-allow-origin'), '*')
  assert.equal(module.headers.get('access-control-allow-credentials'), null)
  assert.match(await module.text(), /createClient/)
  for (const name of ['licenses.md', '..%2Findex.html', '..%2F..%2Fpackage.json', 'nix.js'])
    assert.equal((await fetch(`${address}/console/client/${name}`)).status, 404, name)
})

test('CO3 the policy of the page allows nothing inline, nothing from elsewhere, and no frames', async t => {
  const { address } = await startService(t)
  const page = await fetch(`${address}/`, { headers: html })
  const policy = page.headers.get('content-security-policy') ?? ''
  const directives = new Map(
    policy.split('; ').map(one => [one.split(' ')[0] ?? '', one.split(' ').slice(1)] as const),
  )
  assert.deepEqual(directives.get('default-src'), ["'none'"])
  assert.deepEqual(directives.get('frame-ancestors'), ["'none'"])
  for (const name of ['script-src', 'style-src', 'connect-src', 'worker-src', 'base-uri', 'form-action'])
    assert.deepEqual(directives.get(name), ["'self'"], name)
  assert.doesNotMatch(policy, /unsafe|https?:|\*/)
  const text = await page.text()
  assert.doesNotMatch(text, /<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:/)
})

test('CO3 F2 scripts and style sheets that people upload are sent as plain text', async t => {
  const service = await startService(t)
  const types = [
    [
      'text/javascript',
      'text/javascript; charset=utf-8',
      'Application/X-JavaScript',
      'application/ecmascript',
    ],
    ['text/javascript1.5', 'text/jscript', 'text/livescript', 'text/css'],
  ].flat()
  const { bitstreams } = await addItem(service, {
    identifier: 'code/1',
    readers: everybody,
    files: types.map((mimeType, at) => ({ name: `${at}.js`, content: 'let a', mimeType })),
  })
  for (const { uuid, name } of bitstreams) {
    const { headers } = await fetch(`${service.address}/api/core/bitstreams/${uuid}/content`)
    assert.equal(headers.get('content-type'), 'text/plain; charset=utf-8', name)
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.match(headers.get('content-disposition') ?? '', /^attachment/)
  }
})
