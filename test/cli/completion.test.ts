import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { cleanEnvironment, entry, run } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'

const carrel = (...args: readonly string[]) => run(process.execPath, [entry, ...args])

async function scriptOf(shell: 'bash' | 'zsh' | 'fish'): Promise<string> {
  const { code, stdout, stderr } = await carrel('completion', shell)
  assert.equal(code, 0, stderr)
  assert.equal(stderr, '')
  return stdout
}

/**
 * Creates a folder with paths. @returns a function that asks bash for the completions of a line with the
 * cursor at its end
 */
async function bashIn(t: TestContext) {
  const cwd = temporaryFolder(t)
  for (const name of ['letters.ndjson', 'with space.csv', 'claims.json']) writeFileSync(join(cwd, name), '')
  mkdirSync(join(cwd, 'letters'))
  const script = await scriptOf('bash')
  return async (...words: readonly string[]): Promise<readonly string[]> => {
    const input = `${script}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _carrel; ((\${#COMPREPLY[@]})) && printf '%s\\n' "\${COMPREPLY[@]}"; exit 0`
    const { code, stdout, stderr } = await run('bash', ['-s', '--', 'carrel', ...words], {
      input,
      cwd,
      env: cleanEnvironment(),
    })
    assert.equal(code, 0, stderr)
    assert.equal(stderr, '')
    return stdout.split('\n').filter(Boolean).toSorted()
  }
}

test('D8 bash completes commands, subcommands, options and paths', async t => {
  const bash = await bashIn(t)
  const cases: readonly (readonly [words: readonly string[], offered: readonly string[]])[] = [
    [['ep'], ['eperson']],
    [['e'], ['entity', 'eperson', 'events', 'expose']],
    [
      ['eperson', 'd'],
      ['delete', 'disable'],
    ],
    [['group', 'delete', '--j'], ['--json']],
    [['eperson', 'add', '--f'], ['--first-name']],
    [
      ['import', '--json', 'let'],
      ['letters', 'letters.ndjson'],
    ],
    [['import', 'with'], ['with space.csv']],
    [['import', 'letters.ndjson', '--ent'], ['--entity']],
    [['sso', 'explain', '--attributes', 'cl'], ['claims.json']],
    [
      ['completion', ''],
      ['bash', 'fish', 'zsh'],
    ],
  ]
  for (const [words, offered] of cases) assert.deepEqual(await bash(...words), offered, words.join(' '))
})

test('D8 bash offers nothing where only the user knows what comes', async t => {
  const bash = await bashIn(t)
  for (const words of [
    ['eperson', 'add', ''],
    ['group', 'delete', 'e'],
    ['import', 'letters.ndjson', '--entity', 'l'],
    ['nonsense', 'x'],
  ])
    assert.deepEqual(await bash(...words), [], words.join(' '))
  // An argument with the name of a command is not a command.
  assert.deepEqual(await bash('group', 'add', 'eperson', ''), [])
})

/** Returns the command paths in a script. */
const pathsIn = (script: string) =>
  [...script.matchAll(/^ {4}"(\/[^"]*)"\)$/gm)].map(([, path = '']) => path).toSorted()

test('D8 the scripts of zsh and fish have every command and option that bash has', async () => {
  const [bash, zsh, fish] = await Promise.all([scriptOf('bash'), scriptOf('zsh'), scriptOf('fish')])
  const paths = pathsIn(bash)
  assert.ok(paths.length > 30, paths.join(' '))
  for (const path of paths) {
    const [, options = ''] = new RegExp(`^ {4}"${path}"\\)\\n.*\\n +options="(.*)"$`, 'm').exec(bash) ?? []
    const zshBranch = zsh.slice(zsh.indexOf(`    ('${path}')\n`)).split(/^ {6};;$/m)[0] ?? ''
    const fishLines = fish.split('\n').filter(line => line.includes(`"__carrel_is '${path}'"`))
    assert.match(zshBranch, /^ {4}\('\//, path)
    for (const option of options.split(' ')) {
      assert.ok(zshBranch.includes(`${option}[`), `${path} ${option} in ${zshBranch}`)
      const flag = option.startsWith('--') ? ` -l ${option.slice(2)} ` : ` -s ${option.slice(1)} `
      assert.ok(
        fishLines.some(line => line.includes(flag)),
        `${path} ${option} in ${fishLines.join('\n')}`,
      )
    }
    const parent = path.slice(0, path.lastIndexOf('/'))
    const name = path.slice(parent.length + 1)
    assert.ok(fish.includes(`"__carrel_is '${parent}'" -a ${name} -d '`), path)
    assert.ok(zsh.includes(`          '${name}:`), path)
  }
})

test('D8 only paths are completed as paths by zsh and fish', async () => {
  const [zsh, fish] = await Promise.all([scriptOf('zsh'), scriptOf('fish')])
  assert.match(zsh, /'\*--attributes\[[^\n]+\]:file\.json:_files'/)
  assert.match(zsh, /'\*--entity\[[^\n]+\]:name:'/)
  assert.match(fish, /^complete -c carrel -n "__carrel_is '\/sso\/explain'" -l attributes -r -F -d /m)
  assert.match(fish, /^complete -c carrel -n "__carrel_is '\/import'" -l entity -x -d /m)
  assert.match(fish, /^complete -c carrel -n "__carrel_is '\/ingest'" -F$/m)
  assert.match(fish, /^complete -c carrel -f$/m)
})

test('D8 no description breaks out of its quotes', async () => {
  const [zsh, fish] = await Promise.all([scriptOf('zsh'), scriptOf('fish')])
  // Without quoted text, the rest contains no quote; '\'' and \' are quotes inside a text.
  const zshRest = zsh.replaceAll("'\\''", '').replaceAll(/'[^']*'|"[^"]*"/g, '')
  const fishRest = fish.replaceAll("\\'", '').replaceAll(/"[^"]*"|'[^']*'/g, '')
  for (const rest of [zshRest, fishRest]) assert.doesNotMatch(rest, /['"`]/)
})

test('D1 another shell is wrong use, and the line names those that there are', async () => {
  const { code, stdout, stderr } = await carrel('completion', 'tcsh')
  assert.equal(code, 2)
  assert.equal(stdout, '')
  assert.match(stderr, /^carrel: [^\n]*bash, zsh, fish[^\n]*\n$/)
})

test('D1 every command that prints a result has --json', async () => {
  const script = await scriptOf('bash')
  const paths = pathsIn(script)
  const commands = paths.filter(path => !paths.some(one => one.startsWith(`${path}/`)))
  assert.ok(commands.length > 25, commands.join(' '))
  const without = commands.filter(
    path => !new RegExp(`^ {4}"${path}"\\)\\n.*\\n +options="(.* )?--json( .*)?"$`, 'm').test(script),
  )
  // One prints a script, one runs until it is stopped, two have --format, and one prints TypeScript.
  assert.deepEqual(without.toSorted(), [
    '/completion',
    // A recipe is JSON.
    '/entity/recipe',
    '/events/export',
    '/query',
    '/serve',
    '/types',
  ])
})
