import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { toConfig } from '../../src/config/config.ts'
import { settings } from '../../src/config/settings.ts'
import { repository } from '../support/service/process.ts'

const read = (file: string) => readFileSync(join(repository, file), 'utf8')
const examples = [
  ...globSync('deploy/*', { cwd: repository }),
  ...globSync(['docs/how-to/*.md', 'docs/deployment.md'], { cwd: repository }),
]

test('D3 the examples of deployment name only settings that there are', () => {
  const unknown = examples.flatMap(file =>
    [...read(file).matchAll(/\bCARREL_(?!TEST_)[A-Z_]+\b/g)]
      .filter(([key]) => !Object.hasOwn(settings, key))
      .map(([key]) => `${file}: ${key}`),
  )
  assert.deepEqual(unknown, [])
})

test('D3 the settings that the examples of deployment give are valid', () => {
  let given = 0
  for (const file of globSync('deploy/*', { cwd: repository })) {
    const pairs = [...read(file).matchAll(/^(?:#\s+|\s*|ENV )(CARREL_[A-Z_]+)=(\S+)$/gm)]
    given += pairs.length
    const env = Object.fromEntries(pairs.map(([, key = '', value = '']) => [key, value]))
    assert.doesNotThrow(() => toConfig(env), file)
  }
  assert.ok(given >= 8, `${given} settings were found`)
})

test('D3 the build of the image is given what its scripts read, and the image what the package has', () => {
  const { files, scripts } = JSON.parse(read('package.json')) as {
    files: readonly string[]
    scripts: Readonly<Record<'build' | 'prepare', string>>
  }
  const allowed = [...read('deploy/Dockerfile.dockerignore').matchAll(/^!(\S+)$/gm)].map(([, path]) => path)
  const copied = [...read('deploy/Dockerfile').matchAll(/^COPY (?!--)(.+) \S+$/gm)].flatMap(
    ([, paths = '']) => paths.split(' '),
  )
  const run = [scripts.build, scripts.prepare].join(' ').matchAll(/node (\S+)/g)
  for (const path of [...copied.filter(path => path !== '.'), ...[...run].map(([, path = '']) => path)])
    assert.ok(
      allowed.some(one => path === one || path.startsWith(`${one}/`)),
      path,
    )
  for (const folder of files.filter(file => file.endsWith('dist')))
    assert.match(read('deploy/Dockerfile'), new RegExp(`^COPY --from=build /src/${folder} ${folder}$`, 'm'))
})

test('D13 no proxy that is shown in front of Carrel limits bodies, or collects them first', () => {
  const shown = ['deploy/*', 'docs/**/*.md', 'README.md'].flatMap(pattern =>
    globSync(pattern, { cwd: repository }).flatMap(file =>
      file.endsWith('.md')
        ? [...read(file).matchAll(/^ *```(\w+)\n([\s\S]*?)^ *```$/gm)].map(([, , text = '']) => ({
            file,
            text,
          }))
        : [{ file, text: read(file) }],
    ),
  )
  /**
   * Directives against a product's own limits, each with a line that only complete examples of the product
   * contain.
   */
  const demanded = [
    [/location \/(server|pdb)\/? \{/, /client_max_body_size 0;/],
    [/location \/(server|pdb)\/? \{/, /proxy_request_buffering off;/],
    [/^\s*ProxyPass (\S*) http/m, /LimitRequestBody 0$/m],
  ] as const
  const seen = demanded.map(([whole, needed]) => {
    const examples = shown.filter(({ text }) => whole.test(text))
    for (const { file, text } of examples) assert.match(text, needed, file)
    return examples.length
  })
  assert.deepEqual(seen.map(Boolean), [true, true, true], `${seen} examples were found`)
  for (const { file, text } of shown) {
    assert.doesNotMatch(text, /^\s*(max_size|request_buffers)\b/m, file)
    assert.doesNotMatch(text, /client_max_body_size (?!0;)/, file)
  }
})
