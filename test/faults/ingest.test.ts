import assert from 'node:assert/strict'
import { existsSync, readdirSync, rmSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test as testOnce } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { folderOf } from '../../src/config/files-place.ts'
import { sweep } from '../../src/files/sweep.ts'
import {
  assertCounts,
  filesIn,
  ingest,
  itemsIn,
  withoutBar,
  writeFiles,
  writeLetters,
} from '../support/data/archives.ts'
import { repeats } from '../support/scale.ts'
import { storeSettings, test } from '../support/service/engines.ts'
import { carrelProgram, fill, smallDisk, startCommand } from '../support/service/faults.ts'
import { carrel, cleanEnvironment, run } from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

/**
 * Number of letters to ingest. Ingests are interrupted or run at the same time, and no letter may be lost or
 * added twice.
 */

const count = repeats(30, 240)
/** Number of letters while sweeps run without a pause. */
const fewer = repeats(10, 240)

/** Asserts that every letter is there once, with its three files and their contents. */
async function assertWhole(service: Service, text: (at: number) => string, letters = count): Promise<void> {
  const items = await itemsIn(service)
  assert.equal(items.size, letters)
  for (let at = 0; at < letters; at++) {
    const item = items.get(`letters/letter-${String(at).padStart(4, '0')}`)
    assert.equal(item?.title, `Letter ${at}`)
    assert.deepEqual(
      item?.bitstreams.map(({ name, size }) => [name, size]),
      [
        ['scan.txt', `${text(at)}, scanned`.length],
        ['notes.txt', `${text(at)}, read`.length],
        ['license.txt', 'The same for all.'.length],
      ],
    )
  }
  const { code, stdout, stderr } = await carrel(service.dataFolder, ['files', 'verify'])
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, new RegExp(`^${2 * letters + 1} files read .*: all intact\\.\\n$`))
}

/** Makes all contents old. A sweep may move them meanwhile. */
function ageAll(folder: string): void {
  if (!existsSync(folder)) return
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (/[0-9a-f]{64}/.test(path))
      try {
        utimesSync(join(folder, path), 1, 1)
      } catch {}
}

const contentsIn = (folder: string) =>
  existsSync(folder) ? filesIn(folder).filter(path => !/^(incoming|orphans)/.test(path)) : []

test('an ingest that is killed again and again continues when repeated, and adds everything once', async t => {
  const service = await startService(t)
  const folder = folderOf(service.config.files)
  const text = (at: number) => `letter ${at}`
  const source = writeLetters(join(temporaryFolder(t), 'letters'), count, text)
  const env = await storeSettings(service.dataFolder)
  const sizes: number[] = []
  for (let round = 0; round < repeats(1, 5); round++) {
    const command = startCommand(t, ['ingest', source], env)
    const atLeast = contentsIn(folder).length + Math.floor((Math.random() * count) / 4)
    let ended = false
    void command.ended.then(() => {
      ended = true
    })
    await until(
      `more than ${atLeast} contents, or the end`,
      () => (ended ? Number.POSITIVE_INFINITY : contentsIn(folder).length),
      count => count > atLeast,
    )
    command.kill()
    await command.ended
    sizes.push((await itemsIn(service)).size)
    // The repository is consistent at any time.
    const verified = await carrel(service.dataFolder, ['files', 'verify'])
    assert.equal(verified.code, 0, verified.stdout)
  }
  // Committed items stay.
  assert.deepEqual(
    sizes,
    sizes.toSorted((a, b) => a - b),
  )
  const report = await ingest(service.dataFolder, source)
  assert.equal(report.code, 0, report.stderr)
  assertCounts(report, { added: count - (sizes.at(-1) ?? 0), unchanged: sizes.at(-1) ?? 0 })
  await assertWhole(service, text)

  // Leftovers of the killed runs are removed once they are old.
  for (let round = 0; round < 2; round++) {
    for (const path of filesIn(folder)) utimesSync(join(folder, path), 1, 1)
    assert.equal((await carrel(service.dataFolder, ['files', 'clean'])).code, 0)
  }
  assert.equal(filesIn(folder).length, 2 * count + 1)
  await assertWhole(service, text)
})

test('sweeps that consider everything old lose nothing of a concurrent ingest', async t => {
  const service = await startService(t)
  const folder = folderOf(service.config.files)
  const { repository } = service.storage
  const source = writeLetters(join(temporaryFolder(t), 'letters'), fewer)
  let over = false
  let swept = 0
  const sweeps = Array.from({ length: 2 }, async () => {
    while (!over) {
      ageAll(folder)
      const { setAside, deleted } = await sweep(folder, repository)
      swept += setAside + deleted
      // Lets the ingests run.
      await nextTurn()
    }
  })
  for (const text of ['letter', 'changed', 'changed again']) {
    writeLetters(source, fewer, at => `${text} ${at}`)
    const report = await ingest(service.dataFolder, source)
    assert.equal(report.code, 0, report.stderr)
    assertCounts(report, text === 'letter' ? { added: fewer } : { changed: fewer })
    await assertWhole(service, at => `${text} ${at}`, fewer)
  }
  over = true
  await Promise.all(sweeps)
  assert.ok(swept > 0)
  await assertWhole(service, at => `changed again ${at}`, fewer)
})

test('two concurrent ingests of the same folder add every item once', async t => {
  const service = await startService(t)
  const text = (at: number) => `letter ${at}`
  const source = writeLetters(join(temporaryFolder(t), 'letters'), count, text)
  const reports = await Promise.all([1, 2].map(() => ingest(service.dataFolder, source)))
  for (const { code, stderr, failed } of reports) assert.deepEqual([code, failed], [0, 0], stderr)
  assert.equal(
    reports.reduce((sum, { added }) => sum + added, 0),
    count,
  )
  await assertWhole(service, text)
})

testOnce(
  'an ingest on a full disk says so, keeps what was committed, and goes on when there is room',
  async (t: TestContext) => {
    const prepared = temporaryFolder(t)
    await fill(t, { CARREL_DATA: prepared }, {})
    const disk = await smallDisk(t, 24, prepared)
    const source = writeLetters(join(temporaryFolder(t), 'letters'), count)
    writeFiles(source, { 'letter-0020/scan.txt': 'x'.repeat(3 * 1024 * 1024) })
    const [program, ...rest] = [...disk.enter, ...carrelProgram] as [string, ...string[]]
    const command = (...args: string[]) =>
      run(program, [...rest, ...args], { env: cleanEnvironment({ CARREL_DATA: disk.folder }) })
    disk.fill(2 * 1024 * 1024)
    const full = await command('ingest', source)
    assert.equal(full.code, 1)
    assert.match(withoutBar(full.stderr), /^carrel: .*the disk is full.*\n$/)
    disk.free()
    assert.match((await command('files', 'verify')).stdout, /all intact/)
    assert.match((await command('ingest', source)).stdout, /added, 0 changed, [\d,]+ unchanged, 0 failed/)
    assert.match(
      (await command('files', 'verify')).stdout,
      new RegExp(`^${2 * count + 1} files read .*: all intact`),
    )
    assert.match(
      (await command('ingest', source)).stdout,
      new RegExp(`^0 added, 0 changed, ${count} unchanged`, 'm'),
    )
    rmSync(source, { recursive: true })
  },
)
