import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { toConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/file.ts'
import { startService } from '../support/service/service.ts'

const svg = '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'

function folderOf(t: TestContext, files: Readonly<Record<string, string | Buffer>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'carrel-test-look-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  return folder
}

test('CO15 the page has the name, the color and the logo, and the logo can run nothing', async t => {
  const folder = folderOf(t, { 'logo.svg': svg })
  const { address } = await startService(t, {
    env: {
      CARREL_NAME: 'Rara & "Archiv" <b>$&',
      CARREL_LOGO: join(folder, 'logo.svg'),
      CARREL_COLOR: '#7A1F3D',
    },
  })
  const page = await (await fetch(address, { headers: { accept: 'text/html' } })).text()
  assert.match(page, /<title>Rara &amp; &quot;Archiv&quot; &lt;b&gt;\$&amp;<\/title>/)
  assert.match(page, /data-logo="logo" data-color="#7a1f3d"/)
  assert.match(page, /<link rel="icon" href="logo">/)
  const logo = await fetch(`${address}/console/logo`)
  assert.equal(logo.status, 200)
  assert.equal(logo.headers.get('content-type'), 'image/svg+xml')
  assert.equal(logo.headers.get('x-content-type-options'), 'nosniff')
  assert.match(logo.headers.get('content-security-policy') ?? '', /^default-src 'none';.*; sandbox$/)
  assert.equal(await logo.text(), svg)
  const again = await fetch(`${address}/console/logo`, {
    headers: { 'if-none-match': logo.headers.get('etag') ?? '' },
  })
  assert.equal(again.status, 304)
})

test('CO15 without settings the console is Carrel’s, and there is no logo', async t => {
  const { address } = await startService(t)
  const page = await (await fetch(address, { headers: { accept: 'text/html' } })).text()
  assert.match(page, /<title>Carrel<\/title>/)
  assert.match(page, /data-name="Carrel" data-logo="" data-color=""/)
  assert.equal((await fetch(`${address}/console/logo`)).status, 404)
})

test('CO15 a name, a logo or a color that is none is refused at the start', t => {
  const folder = folderOf(t, {
    'page.svg': '<!doctype html><svg></svg>',
    'text.png': 'this is no picture',
    'large.png': Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(512 * 1024)]),
    'small.png': Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1'),
    'comment.svg': '<!-- made by hand -->\n<svg/>',
  })
  const refused = (env: Record<string, string>, expected: RegExp) =>
    assert.throws(
      () => toConfig(env),
      (error: unknown) => error instanceof ConfigError && expected.test(error.message),
    )
  for (const [name, said] of [
    ['page.svg', 'is no such picture'],
    ['text.png', 'is no such picture'],
    ['large.png', 'has 524296 bytes'],
    ['missing.png', "doesn't exist"],
    ['', "can't be read"],
  ] as const)
    refused({ CARREL_LOGO: join(folder, name) }, new RegExp(`^CARREL_LOGO: .* ${said}; it takes a PNG`))
  for (const color of ['yellow', '#fff', '#7a1f3d;x', 'url(x)'])
    refused({ CARREL_COLOR: color }, /^CARREL_COLOR: .* is not valid/)
  for (const name of [' ', 'a\nb', 'x'.repeat(61), 'a\u202Eb'])
    refused({ CARREL_NAME: name }, /^CARREL_NAME: /)
  assert.equal(toConfig({ CARREL_LOGO: join(folder, 'small.png') }).look.logo?.type, 'image/png')
  assert.equal(toConfig({ CARREL_LOGO: join(folder, 'comment.svg') }).look.logo?.type, 'image/svg+xml')
})
