import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { folderOf } from '../../src/config/files-place.ts'
import { atEnd } from '../support/service/at-end.ts'
import { testOn } from '../support/service/engines.ts'
import { carrel, serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

testOn(
  'sqlite',
  'D4 D2 what a killed program was writing goes when a service starts, and what others write stays',
  async t => {
    const service = await startService(t)
    await service.addRecords('artworks', 'id', [{ id: 'A1' }])
    const { dataFolder, config } = service
    await service.stop()
    const temporary = join(temporaryFolder(t), 'tmp')
    mkdirSync(temporary)
    const env = { TMPDIR: temporary }
    const program = new URL('../support/service/unfinished.ts', import.meta.url).pathname
    const child = spawn(process.execPath, [program, dataFolder, folderOf(config.files)], {
      env: { ...process.env, ...env },
      stdio: 'inherit',
    })
    const ended = once(child, 'close')
    atEnd(t, async () => {
      child.kill('SIGKILL')
      await ended
    })
    const incoming = join(folderOf(config.files), 'incoming')
    const entities = join(dataFolder, 'entities')
    const namesIn = (folder: string) => (existsSync(folder) ? readdirSync(folder) : [])
    const left = () => [
      namesIn(incoming).length,
      namesIn(entities).filter(name => name.includes('.writing')).length,
      namesIn(temporary).filter(name => name.startsWith('carrel-backup')).length,
    ]
    await until('what it writes', left, found => found.every(count => count > 0))
    const age = () => {
      // Makes the files look untouched for two minutes.
      const time = Date.now() / 1000 - 120
      for (const name of namesIn(incoming)) utimesSync(join(incoming, name), time, time)
    }
    age()
    const before = left()
    const first = await serve(t, dataFolder, { env })
    assert.deepEqual(left(), before, 'it is still running')
    assert.equal(await first.stop(), 0)
    child.kill('SIGKILL')
    await ended
    age()
    const second = await serve(t, dataFolder, { env })
    await until('nothing of it', left, found => found.every(count => count === 0))
    assert.equal((await fetch(`${second.address}/health/ready`)).status, 200)
    assert.equal(await second.stop(), 0)
  },
)

testOn('sqlite', 'D8 a restore that is refused leaves no folder that was not there before', async t => {
  const folder = temporaryFolder(t)
  const backups = join(folder, 'backups')
  mkdirSync(backups)
  const place = join(folder, 'a', 'b')
  const env = { CARREL_DATA: place, CARREL_FILES: join(place, 'files') }
  for (const [from, says] of [
    [backups, /holds no backups/],
    [join(folder, 'nowhere'), /holds no backups/],
  ] as const) {
    const { code, stderr } = await carrel(folder, ['restore', from], { env })
    assert.equal(code, 1)
    assert.match(stderr, says)
    assert.deepEqual(readdirSync(folder), ['backups'])
  }
})
