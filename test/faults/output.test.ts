import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { atEnd } from '../support/service/at-end.ts'
import { carrelProgram, smallDisk } from '../support/service/faults.ts'
import { carrel, cleanEnvironment, run } from '../support/service/process.ts'
import { temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

/**
 * The beginning of a command line. Its commands have unusable folders, or standard outputs that accept
 * nothing (D1).
 */
const [node, entry = ''] = carrelProgram
const oneLine = /^carrel: [^\n]+\n$/

test('D1 a data folder that can not be made is exit code 1 and one line that names it', async t => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'file'), '')
  for (const [CARREL_DATA, says] of [
    // Node's own recursive mkdir never returns there.
    ['/proc/carrel', /ENOENT/],
    ['/proc/carrel/of/many', /ENOENT/],
    [join(folder, 'file'), /EEXIST/],
    [join(folder, 'file/data'), /ENOTDIR/],
    [join(folder, 'x'.repeat(300)), /ENAMETOOLONG/],
  ] as const)
    for (const args of [['serve'], ['group', 'add', 'Readers']]) {
      const { code, stdout, stderr } = await carrel(folder, args, { env: { CARREL_DATA } })
      assert.deepEqual([code, stdout], [1, ''], stderr)
      assert.match(stderr, oneLine)
      assert.match(stderr, says)
      assert.ok(stderr.includes(`${CARREL_DATA} can't be used`) && stderr.includes('set CARREL_DATA'), stderr)
    }
})

test('D1 a folder of files that can not be made is exit code 1 and one line', async t => {
  const folder = temporaryFolder(t)
  mkdirSync(join(folder, 'source/item'), { recursive: true })
  writeFileSync(join(folder, 'source/item/dublin_core.xml'), '<dublin_core></dublin_core>')
  await carrel(folder, ['group', 'add', 'Readers'])
  const env = { CARREL_FILES: '/proc/carrel' }
  const { code, stderr } = await carrel(folder, ['ingest', join(folder, 'source')], { env })
  assert.equal(code, 1)
  assert.match(stderr, oneLine)
  assert.match(stderr, /the folder of files can't be written: .*ENOENT/)
})

test('D1 a read-only file system and a full disk are exit code 1 and one line', async t => {
  const disk = await smallDisk(t, 2)
  const folder = join(disk.folder, 'data')
  const env = cleanEnvironment({ CARREL_DATA: folder })
  const onDisk = (before: string, ...args: string[]) =>
    run(
      disk.enter[0],
      [...disk.enter.slice(1), 'sh', '-c', `${before}; exec "$@"`, 'sh', node, entry, ...args],
      { env },
    )
  disk.fill()
  const full = await onDisk('true', 'group', 'add', 'Readers')
  assert.deepEqual([full.code, full.stdout], [1, ''])
  assert.match(full.stderr, /^carrel: [^\n]*the disk is full[^\n]*\n$/)
  disk.free()
  // The leftovers of the full disk don't matter.
  assert.equal((await onDisk('true', 'group', 'add', 'Readers')).code, 0)

  for (const args of [['group', 'list'], ['group', 'add', 'Others'], ['serve']]) {
    const done = await onDisk(`mount -o remount,ro "${disk.folder}"`, ...args)
    assert.deepEqual([done.code, done.stdout], [1, ''])
    assert.match(done.stderr, /^carrel: [^\n]*the file system is read-only[^\n]*\n$/)
    assert.ok(done.stderr.includes(folder), done.stderr)
  }
})

/** Runs a command whose standard output accepts nothing. */
async function runInto(output: 'full' | 'closed', folder: string, args: readonly string[]) {
  const full = output === 'full' ? openSync('/dev/full', 'w') : undefined
  const child = spawn(node, [entry, ...args], {
    env: cleanEnvironment({ CARREL_DATA: folder, CARREL_PORT: '0' }),
    stdio: ['ignore', full ?? 'pipe', 'pipe'],
  })
  if (full !== undefined) closeSync(full)
  // Closed long before the command writes anything.
  child.stdout?.destroy()
  const [[code], stderr] = await Promise.all([once(child, 'close'), child.stderr ? text(child.stderr) : ''])
  return { code: code as unknown, stderr }
}

for (const output of ['full', 'closed'] as const)
  test(`D1 a standard output that is ${output} is exit code 1 and one line, without a stack`, async t => {
    const folder = temporaryFolder(t)
    await carrel(folder, ['group', 'add', 'Readers'])
    for (const args of [
      ['group', 'list'],
      ['entity', 'list', '--json'],
      ['--help'],
      ['--version'],
      ['serve'],
    ]) {
      const { code, stderr } = await runInto(output, folder, args)
      assert.equal(code, 1, args.join(' '))
      assert.match(stderr, /^carrel: standard output can't be written: [^\n]+\n$/, args.join(' '))
    }
  })

test('a full disk takes no lines of the log, and the service answers and logs again when there is room', async t => {
  const disk = await smallDisk(t, 1)
  const [enter, ...inside] = disk.enter
  const child = spawn(
    enter,
    [...inside, 'sh', '-c', `exec "$@" > '${disk.folder}/log'`, 'sh', node, entry, 'serve'],
    {
      env: cleanEnvironment({
        CARREL_DATA: temporaryFolder(t),
        // A fixed port could be taken by another program in the meantime.
        CARREL_PORT: '0',
        CARREL_LOG_LEVEL: 'info',
      }),
      stdio: 'ignore',
    },
  )
  const ended = once(child, 'close')
  atEnd(t, async () => {
    child.kill('SIGKILL')
    await ended
  })
  const file = join(disk.inside, 'log')
  const log = () => (existsSync(file) ? readFileSync(file, 'utf8') : '')
  await until(
    'the line `ready` in the log',
    log,
    text => text.includes('"msg":"ready"') || child.exitCode !== null,
  )
  const address = `http://${/"listening":"([^"]+)"/.exec(log())?.[1]}/api`
  disk.fill()
  // The messages take more than a page of the file system.
  for (let n = 0; n < 100; n++) assert.equal((await fetch(address)).status, 200)
  assert.ok(!log().includes('/api/after'))
  disk.free()
  await fetch(`${address}/after`)
  await until('the request in the log', log, text => text.includes('/api/after'))
  const last = log().trimEnd().split('\n').at(-1) ?? ''
  assert.equal((JSON.parse(last) as { path: string }).path, '/api/after', 'a line of its own')
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
})
