import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, realpathSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFileStore } from '../../../src/files/file-store.ts'
import { BadItem, maxFiles } from '../../../src/items/ingest/item.ts'
import { findFiles, keepFile, openFound } from '../../../src/items/ingest/read-file.ts'
import { writeFiles } from '../../support/data/archives.ts'
import { temporaryFolder } from '../../support/service/service.ts'

const listed = (...paths: string[]) =>
  paths.map(path => ({ path, bundle: 'ORIGINAL', description: null, readers: null }))

/** Finds a file in a source, runs some work, and keeps the file. A secret is beside the source. */
async function keepAfter(
  t: TestContext,
  path: string,
  meanwhile: (source: string, full: string) => void,
): Promise<unknown> {
  const folder = realpathSync(temporaryFolder(t))
  const source = writeFiles(join(folder, 'source'), { [path]: 'mine' })
  writeFiles(folder, { secret: 'of someone else', 'elsewhere/a.txt': 'of someone else, too' })
  const [file] = await findFiles(source, listed(path))
  assert.ok(file)
  meanwhile(source, join(source, path))
  return keepFile(createFileStore(join(folder, 'files')), file)
}

test('a missing file is reported with the name that looks the same', async t => {
  const folder = realpathSync(
    writeFiles(temporaryFolder(t), {
      'blank.txt ': '',
      'mark.txt\ufeff': '',
      'Case.TXT': '',
      'sub/e\u0301.txt': '',
      'sub/a.txt': '',
      'back\\slash.txt': '',
    }),
  )
  for (const [path, message] of [
    ['blank.txt', 'there is no file blank.txt; there is "blank.txt ": remove the white space from its name'],
    [
      'mark.txt',
      'there is no file mark.txt; there is "mark.txt\\ufeff": remove the white space from its name',
    ],
    ['case.txt', 'there is no file case.txt; there is "Case.TXT": write both names the same way'],
    [
      'sub/\u00e9.txt',
      'there is no file sub/\u00e9.txt; there is "e\u0301.txt" in another Unicode normalization form: rename one of them',
    ],
    ['sub\\a.txt', 'there is no file sub\\a.txt; write sub/a.txt'],
    ['sub\\b.txt', 'there is no file sub\\b.txt; separate folders with /, not \\'],
    ['sub/b.txt', 'there is no file sub/b.txt'],
    ['none/b.txt', 'there is no file none/b.txt'],
  ] as const)
    await assert.rejects(
      findFiles(folder, listed(path)),
      error => error instanceof BadItem && error.message === message,
      path,
    )
  // On Linux, a name may contain a backslash.
  assert.equal((await findFiles(folder, listed('back\\slash.txt')))[0]?.name, 'slash.txt')
})

test('an unchanged file is kept', async t => {
  assert.deepEqual(await keepAfter(t, 'sub/a.txt', () => {}), {
    sha256: createHash('sha256').update('mine').digest('hex'),
    size: 4,
  })
})

for (const [what, path, meanwhile] of [
  [
    'a link',
    'a.txt',
    (source, full) => {
      rmSync(full)
      symlinkSync(join(source, '../secret'), full)
    },
  ],
  [
    'a FIFO, which nobody writes to',
    'a.txt',
    (_, full) => {
      rmSync(full)
      assert.equal(spawnSync('mkfifo', [full]).status, 0)
    },
  ],
  [
    'a device',
    'a.txt',
    (_, full) => {
      rmSync(full)
      symlinkSync('/dev/zero', full)
    },
  ],
  [
    'a folder',
    'a.txt',
    (_, full) => {
      rmSync(full)
      mkdirSync(full)
    },
  ],
  [
    'a file behind a link to another folder',
    'sub/a.txt',
    source => {
      rmSync(join(source, 'sub'), { recursive: true })
      symlinkSync(join(source, '../elsewhere'), join(source, 'sub'))
    },
  ],
  [
    "a file of another folder that the source's own has become",
    'a.txt',
    source => {
      renameSync(source, `${source}-before`)
      symlinkSync(join(source, '../elsewhere'), source)
    },
  ],
] as [string, string, (source: string, full: string) => void][])
  test(`a file that becomes ${what} after it was found is not read`, { timeout: 60_000 }, async t => {
    await assert.rejects(
      keepAfter(t, path, meanwhile),
      error =>
        error instanceof BadItem && /can't read|was replaced while it was being read/.test(error.message),
    )
  })

test('opening a FIFO does not wait for a writer', { timeout: 60_000 }, async t => {
  const folder = realpathSync(temporaryFolder(t))
  const path = join(folder, 'fifo')
  assert.equal(spawnSync('mkfifo', [path]).status, 0)
  await assert.rejects(openFound({ folder, path }), /was replaced while it was being read/)
})

test('a list with a duplicate or too many files is refused before any is looked for', async t => {
  // The files don't exist; looking for one would give another message.
  const folder = join(temporaryFolder(t), 'not-there')
  const refused = (paths: string[], message: RegExp) =>
    assert.rejects(
      findFiles(folder, listed(...paths)),
      error => error instanceof BadItem && message.test(error.message),
    )
  await refused(['a', 'b', 'a'], /the bundle ORIGINAL has two files named a;/)
  await refused(['x/a', 'y/a'], /the bundle ORIGINAL has two files named a;/)
  const many = Array.from({ length: maxFiles + 1 }, (_, at) => `${at}`)
  await refused(many, /more than 10,000 files/)
  await refused(many.slice(1), /there is no file 1$/)
})

test('the files of an item are looked for sequentially', async t => {
  const names = Array.from({ length: 200 }, (_, at) => `${at}.txt`)
  const folder = writeFiles(temporaryFolder(t), Object.fromEntries(names.map(name => [name, name])))
  const underWay = () => process.getActiveResourcesInfo().filter(kind => kind === 'FSReqPromise').length
  const before = underWay()
  const finding = findFiles(folder, listed(...names))
  assert.equal(underWay() - before, 1)
  assert.deepEqual(
    (await finding).map(({ name }) => name),
    names,
  )
})
