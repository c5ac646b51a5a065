import assert from 'node:assert/strict'
import { test } from '../support/service/engines.ts'
import { carrel } from '../support/service/process.ts'
import { startService } from '../support/service/service.ts'

test('D8 carrel query writes what a query finds, in each format, as an administrator sees it', async t => {
  const service = await startService(t)
  const letters = Array.from({ length: 250 }, (_, at) => ({ id: at, year: 1780 + (at % 5), 'a,b': 'ü"' }))
  await service.addRecords('letters', 'id', letters, 'admin')
  const query = (...args: string[]) => carrel(service.dataFolder, ['query', ...args])
  const done = async (...args: string[]) => {
    const { code, stdout, stderr } = await query(...args)
    assert.deepEqual([code, stderr], [0, ''])
    return stdout
  }
  const all = await done('letters { order by id }')
  assert.deepEqual(
    all
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line)),
    letters,
  )
  assert.ok(all.endsWith('}\n'))
  assert.deepEqual(JSON.parse(await done('letters { order by id }', '--format', 'json')), letters)
  assert.equal(
    await done('letters[year, count()] { year < 1782 group by year order by year }', '--format', 'csv'),
    'year,count\r\n1780,50\r\n1781,50\r\n',
  )
  assert.equal(await done('["from","letters",["=","id",7]]'), `${JSON.stringify(letters[7])}\n`)
  for (const [format, nothing] of [
    ['ndjson', ''],
    ['json', '[]\n'],
    ['csv', 'id,year,"a,b"\r\n'],
  ] as const)
    assert.equal(await done('letters { id = -1 }', '--format', format), nothing)
  for (const [wrong, says] of [
    ['letters { yaer = 1 }', /^carrel: the query is wrong\. .*yaer.*\n$/],
    ['letters { year = }', /^carrel: the query is wrong\. Line 1, column 18: found "}", .*\n$/],
    ['lettres {}', /^carrel: the query is wrong\. .*lettres.*\n$/],
  ] as const) {
    const { code, stdout, stderr } = await query(wrong)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, says)
  }
})

test('D8 carrel entity show shows the fields and the rules of one entity', async t => {
  const service = await startService(t)
  await service.addRecords('letters', 'id', [{ id: 1, title: null }], 'eperson')
  const show = (...args: string[]) => carrel(service.dataFolder, ['entity', 'show', ...args])
  const { code, stdout } = await show('letters')
  assert.equal(code, 0)
  assert.match(
    stdout,
    /^Entity: letters\nKey: id\nRead by: eperson\nWritten by: nobody\nRecords: 1\n\nFIELD /,
  )
  assert.match(stdout, /^title +text +may be empty$/m)
  assert.equal((JSON.parse((await show('letters', '--json')).stdout) as { name: string }).name, 'letters')
  const missing = await show('lettres')
  assert.equal(missing.code, 1)
  assert.match(
    missing.stderr,
    /^carrel: there is no entity lettres; `carrel entity list` shows all entities\n$/,
  )
})
