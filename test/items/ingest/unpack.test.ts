import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { ImportError } from '../../../src/import/import-error.ts'
import { unpack } from '../../../src/items/ingest/unpack.ts'
import { gzipped, itemFiles, tarOf, zipOf } from '../../support/data/packed.ts'
import { temporaryFolder } from '../../support/service/service.ts'

const megabyte = 1024 * 1024

/** Unpacks an archive into a folder of its own. */
async function unpacked(t: TestContext, bytes: Uint8Array, signal = new AbortController().signal) {
  const folder = temporaryFolder(t)
  const path = join(folder, 'archive')
  writeFileSync(path, bytes)
  const to = join(folder, 'to')
  await unpack(path, to, { size: 80 * megabyte, signal, requireRoom: async () => {} })
  return to
}

const filesIn = (folder: string) =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(name => statSync(join(folder, name)).isFile())
      .map(name => [name, readFileSync(join(folder, name), 'utf8')])
      .toSorted(),
  )

test('UP3 an archive that leads elsewhere, or is not what it seems, is refused with the name of the entry', async t => {
  const item = itemFiles('one')
  const tars = await Promise.all([
    tarOf([{ name: '../evil', content: 'x' }]),
    tarOf([{ name: '/tmp/evil', content: 'x' }]),
    tarOf([{ name: 'one/link', header: { type: 'symlink', linkname: '/etc/passwd' } }]),
    tarOf([{ name: 'one/link', header: { type: 'link', linkname: 'one/a.txt' } }]),
    tarOf([{ name: 'one/null', header: { type: 'character-device', devmajor: 1, devminor: 3 } }]),
    tarOf([{ name: 'one/pipe', header: { type: 'fifo' } }]),
    tarOf([{ name: 'one', content: 'x' }, ...item]),
    tarOf([{ name: 'one/M\ufffdller', content: 'x' }]),
    tarOf(item).then(tar => tar.subarray(0, 900)),
    tarOf([{ name: 'a', header: { pax: { comment: 'x'.repeat(3_000_000) } } }, ...item]),
  ])
  const wrong: readonly [Uint8Array, RegExp][] = [
    [Buffer.from('not an archive'), /neither a zip/],
    [Buffer.from('PK\x03\x04 but no more'), /damaged/],
    [zipOf(item).subarray(0, 300), /damaged/],
    [zipOf([{ name: '../evil', content: 'x' }]), /leads out|invalid relative path/],
    [zipOf([{ name: 'one/../../evil', content: 'x' }]), /leads out|invalid relative path/],
    [zipOf([{ name: '/tmp/evil', content: 'x' }]), /absolute/],
    [zipOf([{ name: 'C:/evil', content: 'x' }]), /absolute/],
    [zipOf([{ name: 'one\\..\\evil', content: 'x' }]), /backslash|leads out|invalid/],
    [zipOf([{ name: 'one/a\u0000b', content: 'x' }]), /control character/],
    [zipOf([{ name: 'one//a', content: 'x' }]), /leads out|invalid relative path/],
    [zipOf([{ name: `${'a/'.repeat(20)}b`, content: 'x' }]), /folders deep/],
    [zipOf([{ name: 'é'.repeat(200), content: 'x' }]), /255 bytes/],
    [zipOf([{ name: 'x'.repeat(2_000), content: 'x' }]), /1000 characters/],
    [zipOf([...item, { name: 'ONE/A.TXT', content: 'x' }]), /twice/],
    [zipOf([...item, { name: 'one/a.txt/b', content: 'x' }]), /is a file as well/],
    [zipOf([{ name: 'one/link', content: '/etc/passwd', mode: 0o120777 }]), /link or a special file/],
    [zipOf([{ name: 'one/a', content: 'x', encrypted: true }]), /encrypted/],
    [zipOf([{ name: 'one/a', content: 'xx', size: 1 }]), /damaged/],
    [zipOf([{ name: 'bomb', content: Buffer.alloc(70 * 1024 * 1024) }]), /200 times/],
    [zipOf([...item, { name: 'one/b', content: 'x', crc: 1 }]), /damaged: "one\/b": .*checksum \(CRC-32\)/],
    [zipOf([...item, { name: 'one/b', content: 'x', crc: 1, stored: true }]), /damaged: "one\/b": .*CRC-32/],
    [
      zipOf([...item, { name: 'one/b', content: 'x', crc: 1, descriptor: true }]),
      /damaged: "one\/b": .*CRC-32/,
    ],
    [zipOf([...item, { name: 'one/b', content: 'x', crc: 1, zip64: true }]), /damaged: "one\/b": .*CRC-32/],
    [
      zipOf([{ name: 'one/b', content: 'xx', size: 1, stored: true }]),
      /"one\/b": .* has 1 bytes, and it has more/,
    ],
    [zipOf([{ name: 'one/b', content: 'xx', size: 3 }]), /"one\/b": .* has 3 bytes, and it has 2$/],
    [zipOf([{ name: 'one/b', content: 'x', size: 2 ** 40, zip64: true }]), /200 times larger/],
    [
      zipOf([
        { name: '', rawName: Buffer.from('M\x81ller/a', 'latin1') },
        { name: 'b', rawName: Buffer.from([0xff]) },
      ]),
      /not UTF-8.*: "M\\x81ller\/a" \(in code page 437: "Müller\/a"\), "\\xff" \(.*\); pack it with names in UTF-8$/,
    ],
    ...tars.map((tar): [Uint8Array, RegExp] => [
      tar,
      /leads out|absolute|link or a special file|is a file as well|damaged|not UTF-8/,
    ]),
    [gzipped(Buffer.from('no tar')), /damaged/],
    [gzipped(zipOf(item)).subarray(0, 40), /damaged/],
  ]
  for (const [at, [bytes, why]] of wrong.entries())
    await assert.rejects(
      unpacked(t, bytes),
      error => error instanceof ImportError && why.test(error.message),
      String(at),
    )
  assert.ok(!existsSync('/tmp/evil'))
})

test('UP3 zips with long sizes, with sizes after the content, and from macOS are read, with names that can be nothing but UTF-8', async t => {
  const raw = Buffer.from('M\x81ller-02', 'latin1')
  const sum = Buffer.alloc(4)
  sum.writeUInt32LE(crc32(raw))
  const field = Buffer.concat([Buffer.from([1]), sum, Buffer.from('Müller-02')])
  const to = await unpacked(
    t,
    zipOf([
      { name: 'a', content: 'a', zip64: true },
      { name: 'b', content: 'b', descriptor: true, stored: true },
      { name: 'c', content: 'c', descriptor: true, zip64: true },
      { name: '', rawName: Buffer.from('Müller-01'), content: 'd' },
      { name: '', rawName: raw, content: 'e', extra: [0x7075, field] },
      { name: '__MACOSX/._a', content: 'x' },
      { name: 'one/__MACOSX/._a', content: 'x' },
      { name: 'one/.DS_Store', content: 'x' },
    ]),
  )
  assert.deepEqual(filesIn(to), { a: 'a', b: 'b', c: 'c', 'Müller-01': 'd', 'Müller-02': 'e' })
})

test('UP3 an archive of too many files ends before any is written, and one that is not wanted any more at once', async t => {
  const header = (await tarOf([{ name: 'one/a', content: '' }])).subarray(0, 512)
  const many = Buffer.alloc(200_002 * 512)
  for (let at = 0; at < 200_001; at++) {
    const one = many.subarray(at * 512, (at + 1) * 512)
    header.copy(one)
    one.write(`one/${at}`, 0)
    // The checksum of the header, computed with spaces in its place.
    one.write('        ', 148)
    one.write(
      `${one
        .reduce((all, byte) => all + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0`,
      148,
    )
  }
  const folder = temporaryFolder(t)
  const path = join(folder, 'archive')
  writeFileSync(path, gzipped(many))
  const signal = new AbortController().signal
  const bounds = { size: 80 * megabyte, signal, requireRoom: async () => {} }
  await assert.rejects(unpack(path, join(folder, 'to'), bounds), /more than 200,000 files and folders/)
  assert.ok(!existsSync(join(folder, 'to')))
  await assert.rejects(unpacked(t, zipOf(itemFiles('one')), AbortSignal.abort()), { name: 'AbortError' })
})
