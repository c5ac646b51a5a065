import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Command } from 'commander'
import { examples } from '../../src/cli/examples.ts'
import { createProgram } from '../../src/cli/main.ts'
import { carrel } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'

const program = await createProgram()

/** Returns every command that does something by itself, with the names that lead to it. */
function commandsBelow(command: Command, path: readonly string[] = []): [string, Command][] {
  const below = command.commands.flatMap(one => commandsBelow(one, [...path, one.name()]))
  const acts = command.commands.length === 0 || command.registeredArguments.length > 0
  return acts && path.length > 0 ? [[path.join(' '), command], ...below] : below
}

test('D1 the help of every command has an example, with arguments and options that it takes', () => {
  const commands = commandsBelow(program)
  assert.deepEqual(commands.map(([path]) => path).toSorted(), Object.keys(examples).toSorted())
  for (const [path, command] of commands) {
    const example = examples[path] ?? ''
    const [, line = ''] = new RegExp(`\\bcarrel ${path} ?([^<>)]*)`).exec(example) ?? []
    assert.ok(example.includes(`carrel ${path}`), example)
    const words = [...line.matchAll(/'[^']*'|\S+/g)].map(([word]) => word.replace(/^'(.*)'$/, '$1'))
    const { operands, unknown } = command.parseOptions(words)
    assert.deepEqual(unknown, [], example)
    const least = command.registeredArguments.filter(({ required }) => required).length
    const most = command.registeredArguments.some(({ variadic }) => variadic)
      ? Number.POSITIVE_INFINITY
      : command.registeredArguments.length
    assert.ok(operands.length >= least && operands.length <= most, example)
  }
})

test('D1 an option that a command does not have is answered by those that it has', async t => {
  const folder = temporaryFolder(t)
  for (const [path, command] of [['', program] as const, ...commandsBelow(program)]) {
    const args = path === '' ? ['--nope'] : [...path.split(' '), ...required(command), '--nope']
    const { code, stderr } = await carrel(folder, args)
    assert.equal(code, 2, path)
    const names = command.options.flatMap(({ long }) => long ?? []).join(', ')
    const said = names === '' ? 'takes no options' : `takes ${names}`
    assert.equal(
      stderr.replace(/ \(Did you mean [^)]*\)/, ''),
      `carrel: unknown option '--nope'; ${path.split(' ').at(-1) || 'carrel'} ${said}\n`,
      path,
    )
  }
})

/** Returns values for the options that a command can't do without. */
const required = (command: Command) =>
  command.options.flatMap(({ mandatory, long }) => (mandatory && long ? [long, 'x'] : []))

test('D1 carrel help is carrel --help, on every level', async t => {
  const folder = temporaryFolder(t)
  for (const path of [[], ['import'], ['eperson'], ['eperson', 'add']]) {
    const help = await carrel(folder, ['help', ...path])
    assert.deepEqual(help, await carrel(folder, [...path, '--help']))
    assert.equal(help.code, 0)
    assert.match(help.stdout, new RegExp(`^Usage: carrel ${path.join(' ')}`))
  }
  const { stdout } = await carrel(folder, ['help', 'import'])
  assert.match(stdout, /\nExample:\n {2}carrel import artworks\.csv --entity artworks --key id/)
  const { code, stderr } = await carrel(folder, ['help', 'imprt'])
  assert.equal(code, 2)
  assert.match(stderr, /imprt/)
})
