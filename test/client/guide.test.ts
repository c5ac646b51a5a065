import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startDemoService } from '../support/data/demo.ts'
import { importText } from '../support/data/imports.ts'
import { everybody, putItem } from '../support/data/repository.ts'
import { assertDone } from '../support/service/commands.ts'
import { testOn } from '../support/service/engines.ts'
import { carrel, cleanEnvironment, repository, run } from '../support/service/process.ts'
import { passwordOf, temporaryFolder } from '../support/service/service.ts'

/** Returns the program in a document: its blocks in order. Any block may contain imports. */
const programIn = (path: string, language: string) =>
  [
    ...readFileSync(join(repository, path), 'utf8').matchAll(
      new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'),
    ),
  ]
    .map(([, text = '']) => text)
    .join('\n')

test('CL13 what the guide and the READMEs show is what the compiler takes', async t => {
  const folder = temporaryFolder(t, 'sqlite')
  mkdirSync(join(folder, 'node_modules/@carrel'), { recursive: true })
  symlinkSync(join(repository, 'packages/client'), join(folder, 'node_modules/@carrel/client'))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  copyFileSync(join(repository, 'examples/entities.ts'), join(folder, 'entities.ts'))
  const files = { guide: programIn('docs/how-to/use-the-client.md', 'ts') }
  const short = ['README.md', 'packages/client/README.md'].map(
    (path, at) => [`readme-${at}`, `const password = ''\n${programIn(path, 'js')}`] as const,
  )
  const programs = Object.entries({ ...files, ...Object.fromEntries(short) })
  for (const [name, text] of programs) {
    assert.match(text, /createClient/)
    writeFileSync(join(folder, `${name}.ts`), text)
  }
  const options = {
    compilerOptions: {
      noEmit: true,
      strict: true,
      exactOptionalPropertyTypes: true,
      target: 'es2024',
      lib: ['es2024', 'dom', 'dom.iterable', 'dom.asynciterable'],
      module: 'nodenext',
      types: [],
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      customConditions: ['carrel-source'],
    },
    files: programs.map(([name]) => `${name}.ts`),
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(options))
  const { code, stdout } = await run(join(repository, 'node_modules/.bin/tsc'), ['-p', folder], {
    cwd: folder,
  })
  assert.equal(code, 0, stdout)
})

const address = 'https://repo.example.edu'
const placeholder = "'5f7ac74e-0000-4000-8000-8a9d0c2f1b3e'"

testOn('sqlite', 'CL13 what the guide shows runs from the top to the end', async t => {
  const service = await startDemoService(t, {
    env: { CARREL_BASE_URL: 'http://localhost', CARREL_LOGIN_ON_BEHALF_OF: 'true' },
  })
  await importText(service, '{"id": 9007199254740993}\n', { entity: 'stars', key: 'id' })
  // The guide says that this entity may be written.
  assertDone(await carrel(service.dataFolder, ['entity', 'writers', 'letters', 'admin']))
  await service.addEperson('ruth@example.org', { admin: true })
  const [disabled, acting] = [
    await service.addEperson('eva@example.org'),
    await service.addEperson('ida@example.org'),
  ]
  const { uuid: itemUuid, bitstreams } = await putItem(service, 'test/1', everybody, [
    { name: 'one.txt', content: Buffer.from('one') },
  ])
  const admin = service.client()
  await admin.login('ruth@example.org')
  const bundles = await (await admin.get(`/api/core/items/${itemUuid}/bundles`)).json()
  const bundle = (bundles as { _embedded: { bundles: { uuid: string }[] } })._embedded.bundles[0]?.uuid ?? ''
  const ids = [itemUuid, disabled.uuid, acting.uuid, bitstreams[0]?.uuid ?? '', bundle]
  let program = programIn('docs/how-to/use-the-client.md', 'ts')
  assert.equal(program.split(placeholder).length - 1, ids.length)
  for (const id of ids) program = program.replace(placeholder, `'${id}'`)
  for (const [shown, given] of [
    [address, service.address],
    ["'her password'", `'${passwordOf('ruth@example.org')}'`],
  ] as const) {
    assert.ok(program.includes(shown), shown)
    program = program.replaceAll(shown, given)
  }
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'node_modules/@carrel'), { recursive: true })
  symlinkSync(join(repository, 'packages/client'), join(folder, 'node_modules/@carrel/client'))
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  copyFileSync(join(repository, 'examples/entities.ts'), join(folder, 'entities.ts'))
  writeFileSync(join(folder, 'guide.ts'), program)
  const { code, stdout, stderr } = await run(process.execPath, ['--conditions=carrel-source', 'guide.ts'], {
    cwd: folder,
    env: cleanEnvironment(),
  })
  assert.equal(code, 0, stdout.slice(-2000) + stderr)
  assert.match(stdout, /^password undefined\nlogout undefined\n/)
  assert.match(stdout, /\nDublin 917\nBasel 915\n/)
  assert.match(stdout, /\nchanged 29 true\n/)
  assert.match(stdout, /\{ id: 9007199254740993n \} 9007199254740994n\n/)
  assert.match(stdout, /\nTitle of test\/1 true\n/)
  assert.match(stdout, /\nend\n404 not-found No information is known about letters "1000000"/)
})
