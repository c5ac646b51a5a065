import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { repository, run } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'

/** The program in a document: its blocks, one after the other. Imports may stand in any of them. */
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
