import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertRefused } from '../support/service/commands.ts'
import { test } from '../support/service/engines.ts'
import { carrel } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'

test('M6 D8 a group is put into another and taken out of it again', async t => {
  const { dataFolder, storage, addEperson } = await startService(t)
  await addEperson('admin@example.org', { admin: true })
  const { uuid } = await addEperson('ruth@example.org', { groups: ['Inner'] })
  await storage.people.ensureGroups(['Outer'])
  const run = (...args: string[]) => carrel(dataFolder, ['group', ...args])
  const names = async () => (await storage.people.groupsOf(uuid)).map(({ name }) => name)
  assert.match((await run('add-group', 'Outer', 'Inner')).stdout, /^The group Inner is now in Outer\.$/m)
  assert.match((await run('add-group', 'Outer', 'Inner')).stdout, /is already in Outer/)
  assert.deepEqual(await names(), ['Inner', 'Outer'])
  assertRefused(await run('add-group', 'Inner', 'Outer'), 1, /can’t be in itself/)
  assertRefused(await run('add-group', 'Outer', 'Nobodies'), 1, /no group Nobodies/)
  const removed = JSON.parse((await run('remove-group', 'Outer', 'Inner', '--json')).stdout)
  assert.deepEqual(removed, { group: 'Outer', subgroup: 'Inner', member: false, changed: true })
  assert.deepEqual(await names(), ['Inner'])
})

test('M8 D8 nobody is added to a special group by hand', async t => {
  const { dataFolder, addEperson } = await startService(t)
  await addEperson('ruth@example.org', { groups: ['Campus', 'Other'] })
  const file = join(temporaryFolder(t), 'carrel.json')
  writeFileSync(
    file,
    JSON.stringify({ specialGroups: { ip: [{ group: 'Campus', ranges: ['10.0.0.0/8'] }] } }),
  )
  for (const args of [
    ['join', 'Campus', 'ruth@example.org'],
    ['add-group', 'Campus', 'Other'],
  ])
    assertRefused(
      await carrel(dataFolder, ['group', ...args], { env: { CARREL_CONFIG: file } }),
      1,
      /special group/,
    )
  assert.equal(
    (
      await carrel(dataFolder, ['group', 'leave', 'Campus', 'ruth@example.org'], {
        env: { CARREL_CONFIG: file },
      })
    ).code,
    0,
  )
})
