import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import { importFile, type Progress } from '../../src/entities/import-entity.ts'
import { Client } from '../support/clients/client.ts'
import { bodyOf, listPath } from '../support/clients/listings.ts'
import { leftoversIn, ndjson } from '../support/data/imports.ts'
import { atEnd } from '../support/service/at-end.ts'
import { storeSettings, test, testOn } from '../support/service/engines.ts'
import { carrelProgram, letters } from '../support/service/faults.ts'
import {
  carrelProcess,
  cleanEnvironment,
  repository,
  serve,
  withoutProgress,
} from '../support/service/process.ts'
import { type Service, startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

const args = ['--entity', 'letters', '--key', 'id', '--read', 'anonymous']

/** Starts `carrel import <file>`, with a folder of its own for temporary files. */
async function startImport(t: TestContext, { dataFolder }: Service, file: string) {
  const temporary = temporaryFolder(t)
  const [node, entry] = carrelProgram
  const child = spawn(node, [entry as string, 'import', file, ...args], {
    cwd: repository,
    env: cleanEnvironment({ ...(await storeSettings(dataFolder)), TMPDIR: temporary }),
    stdio: 'pipe',
  })
  child.stdin.on('error', () => {})
  const ended = Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]).then(
    ([[code, signal], stdout, stderr]) => ({ code: code as number | null, signal, stdout, stderr }),
  )
  atEnd(t, async () => {
    child.kill('SIGKILL')
    await ended
  })
  return { child, ended, temporary }
}

/** True if the process holds its standard input in a deleted file (proc_pid_fd(5)). */
const holdsInput = (child: ChildProcess) => {
  const folder = `/proc/${child.pid}/fd`
  return readdirSync(folder).some(name => {
    try {
      return /import-\d+\.input \(deleted\)$/.test(readlinkSync(join(folder, name)))
    } catch {
      return false
    }
  })
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const)
  test(`D2 an import that gets ${signal} while it reads standard input changes nothing and leaves nothing`, async t => {
    const service = await startService(t)
    await service.addRecords('letters', 'id', letters(3, 'old'))
    const before = await bodyOf(service, listPath('letters'))
    const { child, ended, temporary } = await startImport(t, service, '-')
    // The input has begun and never ends.
    child.stdin.write(ndjson(letters(1_000, 'new')))
    await until('an import that has read some of its input', () => holdsInput(child))
    child.kill(signal)
    const done = await ended
    if (signal === 'SIGKILL') assert.equal(done.signal, signal)
    else {
      assert.equal(done.code, 1)
      assert.equal(withoutProgress(done.stderr), 'carrel: interrupted; nothing was imported\n')
      assert.deepEqual(readdirSync(temporary), [])
    }
    assert.equal(done.stdout, '')
    for (const name of readdirSync(temporary)) assert.deepEqual(readdirSync(join(temporary, name)), [])
    assert.deepEqual(await leftoversIn(service.dataFolder), [])
    assert.equal(await bodyOf(service, listPath('letters')), before)
  })

test('D2 an import that is interrupted at any moment says nothing was imported, or has imported everything', async t => {
  const service = await startService(t)
  const folder = temporaryFolder(t)
  const file = join(folder, 'letters.ndjson')
  const records = letters(20_000, 'new')
  writeFileSync(file, ndjson(records))
  await service.addRecords('letters', 'id', letters(3, 'old'))
  const options = { name: 'letters', key: 'id', read: null, event: commandEvent('entity.import') }
  const run = async (progress: Progress, signal: AbortSignal) =>
    importFile(file, service.storage.entities, { ...options, signal }, progress)

  // Each report of progress is a moment to interrupt the import.
  const moments: [step: string, share: number][] = []
  await run((step, share) => moments.push([step, share]), new AbortController().signal)
  const body = { new: await bodyOf(service, listPath('letters')), old: '' }
  await service.addRecords('letters', 'id', letters(3, 'old'))
  body.old = await bodyOf(service, listPath('letters'))

  const last = moments.length - 1
  for (const at of [0, 1, ...moments.keys()].filter(moment => moment % 7 === 0 || moment >= last - 1)) {
    const stop = new AbortController()
    let seen = -1
    const progress = () => {
      if (++seen === at) stop.abort(new Error('stopped here'))
    }
    // Once everything is written, it is too late to stop.
    if (at === last) await run(progress, stop.signal)
    else await assert.rejects(run(progress, stop.signal), { message: 'stopped here' }, `${moments[at]}`)
    assert.equal(stop.signal.aborted, true)
    assert.equal(await bodyOf(service, listPath('letters')), at === last ? body.new : body.old)
    assert.deepEqual(await leftoversIn(service.dataFolder), [])
  }
})

test('D1 the progress of an import grows in every step and ends with 1', async t => {
  const service = await startService(t)
  const folder = temporaryFolder(t)
  for (const [file, content] of [
    ['a.ndjson', ndjson(letters(20_000))],
    ['a.json', JSON.stringify(letters(20_000))],
    [
      'a.csv',
      `id,name\n${letters(20_000)
        .map(({ id, name }) => `${id},${name}\n`)
        .join('')}`,
    ],
    ['empty.csv', 'id,name\n'],
  ] as const) {
    writeFileSync(join(folder, file), content)
    const shares = new Map<string, number[]>()
    await importFile(
      join(folder, file),
      service.storage.entities,
      { name: 'letters', key: 'id', read: null, replace: true, event: commandEvent('entity.import') },
      (step, share) => shares.set(step, [...(shares.get(step) ?? []), share]),
    )
    assert.deepEqual([...shares.keys()], ['reading', 'sorting', 'writing'], file)
    for (const [step, list] of shares) {
      assert.deepEqual(
        list,
        list.toSorted((a, b) => a - b),
        `${file} ${step}`,
      )
      assert.equal(list.at(-1), 1, `${file} ${step}`)
    }
  }
})

testOn('sqlite', 'D1 the progress that a command shows of what it has done ends at 100 %', async t => {
  const { dataFolder } = await startService(t)
  const file = join(temporaryFolder(t), 'letters.csv')
  const rows = Array.from({ length: 800_000 }, (_, id) => `${id},a,b,c\n`)
  writeFileSync(file, `id,one,two,three\n${rows.join('')}`)
  const { code, stderr } = await carrelProcess(dataFolder, ['import', file, ...args, '--dry-run'])
  assert.equal(code, 0)
  const shown = stderr.match(/\d+ %/g) ?? []
  // A machine that is done within a second shows none.
  assert.ok(shown.length === 0 || shown.at(-1) === '100 %', stderr)
})

testOn('sqlite', 'D1 a service that is killed during an import leaves one sentence and no stack', async t => {
  const service = await startService(t)
  await service.addEperson('admin@example.org', { admin: true })
  await service.stop()
  const served = await serve(t, service.dataFolder)
  const admin = new Client(served.address)
  await admin.login('admin@example.org')
  const begun = await admin.post('/api/admin/entities/letters/import?key=id', ndjson(letters(1_000_000)), {
    'content-type': 'application/x-ndjson',
  })
  assert.equal(begun.status, 202)
  const { processId } = (await begun.json()) as { processId: string }
  await until(
    'an import that has begun to read',
    async () => {
      const seen = await (await admin.get(`/api/system/processes/${processId}`)).text()
      return /"done":[1-9]/.test(seen) || seen
    },
    found => found === true,
  )
  served.signal('SIGKILL')
  await served.ended
  const again = await startService(t, { dataFolder: service.dataFolder })
  // Work that was complete before its process noticed has nothing to say.
  const isComplete = (await again.storage.entities.all()).has('letters')
  assert.equal(
    served.output.stderr,
    isComplete ? '' : 'carrel: the service has ended, and with it the work that it had begun.\n',
  )
})
