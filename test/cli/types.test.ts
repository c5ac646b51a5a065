import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { typesOf } from '../../src/cli/types.ts'
import { ruthEmail } from '../support/data/ruth.ts'
import { test, testOn } from '../support/service/engines.ts'
import { carrel, repository, run } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'

test('CL13 carrel types writes what the caller may read, and programs with it are checked', async t => {
  const service = await startService(t)
  await service.addEperson(ruthEmail)
  const artworks = [
    { id: 1, title: 'Night', year: 1901, shown: true, acquired: '1998-01-31T00:00:00Z', 'a-b': { c: 1 } },
    { id: 2, title: 'Noon', year: null, shown: false, acquired: '1998-01-31T00:00:00Z', 'a-b': [1] },
  ]
  await service.addRecords('art-works', 'id', artworks, 'eperson')
  await service.addRecords('rooms', ['floor', 'name'], [{ floor: 1, name: 'a' }])
  const folder = temporaryFolder(t)
  const token = join(folder, 'token')
  writeFileSync(token, `${await service.client().login(ruthEmail)}\n`)
  const out = join(folder, 'entities.ts')
  const { code, stdout, stderr } = await carrel(service.dataFolder, [
    'types',
    service.address,
    '--token-file',
    token,
    '--out',
    out,
  ])
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, /^Wrote the types of \d entities to /)
  const written = readFileSync(out, 'utf8')
  assert.match(written, /export interface ArtWorks \{\n {2}readonly id: number\n {2}readonly title: string\n/)
  for (const line of [
    'year: number | null',
    'shown: boolean',
    'acquired: Instant',
    "'a-b': Json",
    "'art-works': ArtWorks",
    'rooms: Rooms',
  ])
    assert.ok(written.includes(`  readonly ${line}\n`), `${line} in ${written}`)
  assert.match(written, /\/\*\* rooms, by floor, name\. \*\/\nexport interface Rooms/)

  // The compiler accepts the output, and finds the mistake in a program.
  mkdirSync(join(folder, 'node_modules/@carrel'), { recursive: true })
  symlinkSync(join(repository, 'packages/client'), join(folder, 'node_modules/@carrel/client'))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  const program = (field: string) => `import { createClient } from '@carrel/client'
import type { Entities } from './entities.ts'
const art = createClient<Entities>('http://localhost').entity('art-works')
art.query({ where: ['<', '${field}', 1900], orderBy: ['acquired'] })
art.query({ where: ['=', 'a-b.c', 1] })
`
  const compile = async (field: string) => {
    writeFileSync(join(folder, 'program.ts'), program(field))
    const options =
      '--noEmit --strict --module nodenext --target es2024 --lib es2024,dom,dom.iterable,dom.asynciterable'
    const args = [
      ...options.split(' '),
      '--types',
      '',
      '--allowImportingTsExtensions',
      '--customConditions',
      'carrel-source',
    ]
    return run(
      join(repository, 'node_modules/.bin/tsc'),
      [...args, '--skipLibCheck', join(folder, 'program.ts')],
      {
        cwd: folder,
      },
    )
  }
  const right = await compile('year')
  assert.equal(right.code, 0, right.stdout)
  const wrong = await compile('yaer')
  assert.notEqual(wrong.code, 0)
  assert.match(wrong.stdout, /yaer/)
})

testOn('sqlite', 'CL13 carrel types says what is wrong, and shows no token', async t => {
  const service = await startService(t)
  const types = (args: readonly string[], env = {}) => carrel(service.dataFolder, ['types', ...args], { env })
  for (const [args, env, code, says] of [
    [['nowhere'], {}, 2, /must be an address/],
    [['http://a:secret@localhost'], {}, 2, /must not have a password/],
    [['http://127.0.0.1:1'], {}, 1, /does not answer/],
    [[service.address], { CARREL_TOKEN: 'secret' }, 1, /the token is not valid/],
    [[service.address, '--query-base', '/api'], {}, 1, /is it the query base/],
    [[service.address, '--query-base', '/api/nothing'], {}, 1, /answered 404/],
    [[service.address, '--token-file', '/no/such/file'], {}, 1, /can't be read/],
  ] as const) {
    const finished = await types(args, env)
    assert.deepEqual([finished.code, finished.stdout], [code, ''], finished.stderr)
    assert.match(finished.stderr, says)
    assert.match(finished.stderr, /^carrel: [^\n]+\n$/)
    assert.ok(!finished.stderr.includes('secret'))
  }
  const nobody = await types([service.address])
  assert.equal(nobody.code, 0)
  assert.match(nobody.stdout, /readonly items: Items/)
  assert.ok(!nobody.stdout.includes('Epersons'))
})

testOn('sqlite', 'CL13 names of any kind become names of types and members', () => {
  const field = { name: 'a"\n*/b', type: 'text', nullable: false }
  const entities = [
    'red-one',
    'red_one',
    'red one',
    'RedOne',
    '2nd',
    'json',
    'naïve',
    '*/ import "x"; /*',
  ].map(name => ({
    name,
    key: 'a',
    fields: [field],
  }))
  const text = typesOf(entities, 'http://localhost')
  const names = [...text.matchAll(/^export interface (\S+) \{$/gm)].map(([, name]) => name)
  assert.deepEqual(names, [
    'RedOne',
    'Red_one',
    'RedOne2',
    'RedOne3',
    '_2nd',
    'Json2',
    'Naïve',
    'ImportX',
    'Entities',
  ])
  assert.ok(text.includes('readonly "a\\"\\n*/b": string'))
  assert.ok(text.includes('/** *\\/ import "x"; /*, by a. */'))
})

test('CL13 CL14 carrel types --bigint writes that numbers may be BigInt', async t => {
  const service = await startService(t)
  await service.addRecords('stars', 'id', [{ id: 1, size: 0.5, name: 'Vega', notes: { seen: [1] } }])
  const asked = ['types', service.address, '--bigint']
  const { code, stdout } = await carrel(service.dataFolder, asked)
  assert.equal(code, 0)
  for (const line of ['id: number | bigint', 'size: number | bigint', 'name: string', 'notes: ExactJson'])
    assert.ok(stdout.includes(`  readonly ${line}\n`), `${line} in ${stdout}`)
  assert.match(stdout, /^\/\/ Written by `carrel types \S+ --bigint`/)
  assert.match(stdout, /\nimport type \{ ExactJson(, Instant)? \} from '@carrel\/client'\n/)
})
