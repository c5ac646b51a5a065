import assert from 'node:assert/strict'
import { test } from '../support/service/engines.ts'
import { carrel } from '../support/service/process.ts'
import { startService } from '../support/service/service.ts'

const ruth = 'ruth@example.org'
const password = /^[A-Za-z0-9]{16,}$/
const uuid = /^[0-9a-f-]{36}$/

/** Members of the output, each with its value or with an expression that matches it. */
type Expected = Readonly<Record<string, unknown>>

const steps: readonly (readonly [args: readonly string[], expected: Expected])[] = [
  [
    ['eperson', 'add', ruth, '--first-name', 'Ruth', '--admin'],
    { uuid, email: ruth, firstName: 'Ruth', lastName: null, enabled: true, administrator: true, password },
  ],
  [
    ['eperson', 'add', 'carl@example.org', '--no-password'],
    { uuid, email: 'carl@example.org', firstName: null, lastName: null, enabled: true, administrator: false },
  ],
  [['eperson', 'password', ruth], { email: ruth, password }],
  [['eperson', 'disable', ruth], { email: ruth, enabled: false, changed: true }],
  [['eperson', 'disable', ruth], { email: ruth, enabled: false, changed: false }],
  [['eperson', 'enable', ruth], { email: ruth, enabled: true, changed: true }],
  [['group', 'add', 'Readers'], { uuid, name: 'Readers' }],
  [['group', 'join', 'Readers', ruth], { group: 'Readers', email: ruth, member: true, changed: true }],
  [['group', 'join', 'Readers', ruth], { group: 'Readers', email: ruth, member: true, changed: false }],
  [['group', 'leave', 'Readers', ruth], { group: 'Readers', email: ruth, member: false, changed: true }],
  [['group', 'delete', 'Readers'], { name: 'Readers', deleted: true }],
  [['entity', 'access', 'letters', 'eperson'], { name: 'letters', read: 'eperson' }],
  [['entity', 'drop', 'letters'], { name: 'letters', dropped: true }],
  [['eperson', 'delete', ruth], { email: ruth, deleted: true }],
  [['secret', 'rotate'], { accepted: 2 }],
]

test('D1 with --json a command that changes something prints one JSON object and nothing else', async t => {
  const { dataFolder, addRecords } = await startService(t)
  await addRecords('letters', 'id', [{ id: 1 }])
  for (const [args, expected] of steps) {
    const { code, stdout, stderr } = await carrel(dataFolder, [...args, '--json'])
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
    assert.equal(stderr, '')
    const printed = JSON.parse(stdout) as Record<string, unknown>
    for (const [name, value] of Object.entries(expected))
      if (value instanceof RegExp) {
        assert.match(String(printed[name]), value, `${args.join(' ')}: ${name}`)
        printed[name] = value
      }
    assert.deepEqual(printed, expected, args.join(' '))
  }
})
