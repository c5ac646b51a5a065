import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { filesIn } from '../../support/data/archives.ts'
import {
  addLetters,
  assertDone,
  assertRefused,
  backUp,
  emptyPlace,
  restore,
  usedService,
  verify,
} from '../../support/data/backups.ts'
import { repeats } from '../../support/scale.ts'
import {
  allEngines,
  type Engine,
  engineIn,
  storeSettings,
  test,
  testOnOne,
} from '../../support/service/engines.ts'
import { startCommand } from '../../support/service/faults.ts'
import { carrel } from '../../support/service/process.ts'
import { startService, temporaryFolder } from '../../support/service/service.ts'
import { until } from '../../support/service/waiting.ts'

/** Runs the command, and kills it as soon as the condition holds. @returns true if it had ended before */
async function killWhen(
  t: TestContext,
  dataFolder: string,
  args: readonly string[],
  condition: () => boolean,
): Promise<boolean> {
  const command = startCommand(t, args, await storeSettings(dataFolder))
  let ended = false
  void command.ended.then(() => {
    ended = true
  })
  await until(`the moment to kill \`carrel ${args.join(' ')}\`, or its end`, () => ended || condition())
  const was = ended
  command.kill()
  await command.ended
  return was
}

/** Counts files. They may be removed while they are listed; then the next look counts. */
function countIn(folder: string): number {
  try {
    return filesIn(folder).length
  } catch {
    return 0
  }
}

test('D8 a backup that is killed leaves none that looks whole, and those before stay whole', async t => {
  const service = await usedService(t, 10)
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  const first = await backUp(service.dataFolder, folder)
  const before = countIn(join(folder, 'contents'))
  await addLetters(t, service, 60, 'more')
  const names = () => readdirSync(join(folder, 'backups')).filter(name => name.endsWith('.json'))
  let killed = 0
  for (let round = 0; round < repeats(1, 20); round++) {
    const from = countIn(join(folder, 'contents'))
    const moments = [
      () => existsSync(join(folder, 'staging')),
      () => countIn(join(folder, 'contents')) > from + 5 * round,
    ]
    const known = names().length
    const ended = await killWhen(t, service.dataFolder, ['backup', folder, '--keep', '99'], () =>
      Boolean(moments[(round + 1) % moments.length]?.()),
    )
    if (!ended && names().length === known) killed++
    assert.match(assertDone(await verify(folder)), new RegExp(`^${first.name}: intact`))
  }
  assert.ok(killed > 0, 'it was killed before it was done')
  assert.ok(countIn(join(folder, 'contents')) > before, 'what was copied stays')
  const last = await backUp(service.dataFolder, folder, '--keep', '1')
  assert.equal(last.contents.count, 2 * 70 + 1)
  assert.ok(last.copied.count <= 120)
  assert.deepEqual(names(), [`${last.name}.json`])
  // Nothing is left of the killed commands.
  assert.equal(existsSync(join(folder, 'staging')), false)
  assert.deepEqual(
    filesIn(join(folder, 'contents')).filter(path => path.startsWith('incoming')),
    [],
  )
  const place = emptyPlace(t, engineIn(t))
  assertDone(await restore(place, folder))
  assert.match(assertDone(await carrel(place, ['files', 'verify'])), /^141 files read .*: all intact/)
})

testOnOne(
  'D8 a restore that is killed leaves nothing that opens as a store, and can be repeated',
  async t => {
    const service = await usedService(t, 40)
    const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
    await backUp(service.dataFolder, folder)
    for (const engine of allEngines) {
      const place = emptyPlace(t, engine)
      let killed = 0
      for (let round = 0; round < repeats(1, 20); round++) {
        const files = join(place, 'files')
        const ended = await killWhen(t, place, ['restore', folder], () => countIn(files) > 3 + 20 * round)
        if (ended) break
        const listed = await carrel(place, ['eperson', 'list', '--json'])
        if (listed.code === 0) {
          // The backup finished before it could be killed, and is complete.
          assert.equal((JSON.parse(listed.stdout) as unknown[]).length, 3)
          break
        }
        killed++
        assert.match(listed.stderr, saysNoStore[engine])
        if (engine === 'sqlite')
          assert.match((await carrel(place, ['eperson', 'add', 'a@b.org'])).stderr, saysNoStore.sqlite)
      }
      assert.ok(killed > 0, 'it was killed before it was done')
      if ((await carrel(place, ['eperson', 'list'])).code !== 0) assertDone(await restore(place, folder))
      assert.match(assertDone(await carrel(place, ['files', 'verify'])), /^81 files read .*: all intact/)
      const restored = await startService(t, { dataFolder: place })
      assert.equal((await restored.storage.people.listEpersons()).length, 3)
      await addLetters(t, restored, 1, 'after')
      await restored.stop()
    }
  },
)

const saysNoStore: Readonly<Record<Engine, RegExp>> = {
  sqlite: /a restore into \S+ was not finished; run `carrel restore` again/,
  postgres: /no store in the database/,
}

testOnOne('D8 a restore that is killed between its last steps can be repeated', async t => {
  const service = await usedService(t, 1)
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  await backUp(service.dataFolder, folder)
  const place = emptyPlace(t, 'sqlite')
  // The entities and the secret are in place, but the database is not.
  for (const path of ['restoring/work/store/carrel.db', 'entities/left.1.db', 'secret', 'files/store']) {
    mkdirSync(join(place, path, '..'), { recursive: true })
    writeFileSync(join(place, path), path === 'files/store' ? `restoring ${place}\n` : 'left by the other')
  }
  assert.match((await carrel(place, ['eperson', 'list'])).stderr, saysNoStore.sqlite)
  assertRefused(await restore(place, join(folder, 'elsewhere')), /holds no backups/)
  assert.ok(existsSync(join(place, 'secret')), 'a wrong path changes nothing')
  assert.ok(existsSync(join(place, 'entities/left.1.db')))
  assert.match((await carrel(place, ['eperson', 'list'])).stderr, saysNoStore.sqlite)
  assertDone(await restore(place, folder))
  assert.match(assertDone(await carrel(place, ['files', 'verify'])), /^3 files read .*: all intact/)
  assert.equal(existsSync(join(place, 'restoring')), false)
  assert.equal(existsSync(join(place, 'entities/left.1.db')), false)
})

test('D8 a restore that was killed when its store was complete is complete', async t => {
  const service = await usedService(t, 1)
  const folder = join(temporaryFolder(t, 'sqlite'), 'backups')
  await backUp(service.dataFolder, folder)
  const engine = engineIn(t)
  const place = emptyPlace(t, engine)
  assertDone(await restore(place, folder))
  const mark = join(place, ...(engine === 'sqlite' ? [] : ['files']), 'restoring')
  mkdirSync(join(mark, 'work'), { recursive: true })
  assertRefused(await restore(place, folder), /an earlier restore into \S+ was complete already/)
  assert.equal(existsSync(mark), false)
  assertRefused(await restore(place, folder), /not empty|has a store already/)
  assert.equal(
    (JSON.parse((await carrel(place, ['eperson', 'list', '--json'])).stdout) as unknown[]).length,
    3,
  )
})
