import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Command } from 'commander'
import { createProgram } from '../../src/cli/main.ts'
import { repository } from '../support/service/process.ts'

/** Returns the full names of the commands that do something, without those that only contain others. */
function calledIn(command: Command, before: readonly string[] = []): string[] {
  const own = command.commands.flatMap(one => calledIn(one, [...before, one.name()]))
  const isGroup = command.commands.length > 0 && command.name() !== 'backup'
  return isGroup || before.length === 0 ? own : [before.join(' '), ...own]
}

/** Returns the commands in a cell. `carrel group add`, `join` stands for `group add` and `group join`. */
function namedIn(cell: string): string[] {
  let room = ''
  return [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, text = '']) => {
    const words = text.replace(/^carrel /, '').split(' ')
    if (words.length > 1) room = words[0] ?? ''
    const [only = ''] = words
    return words.length > 1 ? [words.join(' ')] : [only, `${room} ${only}`]
  })
}

test('OP8 every command is in the table of addresses, and the table names no other', async () => {
  const guide = readFileSync(join(repository, 'docs/how-to/administer-over-http.md'), 'utf8')
  const table = guide.slice(guide.indexOf('## What commands do'))
  const cells = table.split('\n').flatMap(line => /^\| (`carrel .*?) \|/.exec(line)?.[1] ?? [])
  const named = cells.map(namedIn)
  const commands = calledIn(await createProgram())
  assert.ok(commands.length > 50, commands.join(', '))
  assert.deepEqual(
    commands.filter(name => !named.flat().includes(name)),
    [],
  )
  // A word that stands for two commands must be known as one of them.
  const groups = cells.flatMap(cell => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text))
  const known = (text: string) => {
    const word = text.replace(/^carrel /, '')
    return commands.some(name => name === word || name.endsWith(` ${word}`))
  }
  assert.deepEqual(
    groups.filter(text => !known(text)),
    [],
  )
})
