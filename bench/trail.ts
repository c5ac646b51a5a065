import { mkdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { commandEvent, openStore } from '../src/cli/store.ts'
import { toConfig } from '../src/config/config.ts'
import { folderOf } from '../src/config/files-place.ts'
import { createFileStore } from '../src/files/file-store.ts'
import { scratch } from './support/folder.ts'
import { head, run } from './support/load.ts'
import { carrel, startCarrel } from './support/processes.ts'
import { addPerson, logIn } from './support/session.ts'

/**
 * One reader at full speed for a minute, who refreshes, asks for short-lived tokens and downloads restricted files: how
 * many events that adds to the audit trail (docs/decisions/0069).
 */
const seconds = Number(process.env.BENCH_SECONDS ?? 60)
const files = 2_000

const folder = scratch()
addPerson(folder)
await addFiles()
const service = await startCarrel(folder)
const { token, cookie, csrf } = await logIn(service.address)
const bearer = { Authorization: `Bearer ${token}`, Cookie: cookie }
const post = { ...bearer, 'X-XSRF-TOKEN': csrf, 'Content-Length': '0' }
const refresh = head('POST', '/api/authn/login', post)
const shortLived = head('POST', '/api/authn/shortlivedtokens', post)
const downloads = contentPaths().map(path => head('GET', path, bearer))

const before = events()
let asked = 0
const next = () => {
  const at = asked++
  return at % 3 === 0 ? refresh : at % 3 === 1 ? shortLived : (downloads[((at / 3) % files) | 0] ?? refresh)
}
const { latencies } = await run({ address: service.address, seconds, next })
await service.stop()
const after = events()
console.log(
  `${latencies.length} requests in ${seconds} s, ${after.rows - before.rows} events that count ${after.sum - before.sum}, ` +
    `${Math.round((after.bytes - before.bytes) / 1024)} KiB of texts; ${Math.round(statSync(join(folder, 'carrel.db')).size / 1024)} KiB of database`,
)
console.log(carrel(folder, ['events', 'verify']).split('\n')[0])

async function addFiles(): Promise<void> {
  const config = toConfig({ CARREL_DATA: folder })
  mkdirSync(folderOf(config.files), { recursive: true })
  const store = createFileStore(folderOf(config.files))
  const bitstreams = []
  for (let at = 0; at < files; at++) {
    const path = join(folder, 'source')
    writeFileSync(path, `letter ${at}`)
    const shown = {
      bundle: 'ORIGINAL',
      name: `${at}.txt`,
      description: null,
      mimeType: 'text/plain',
      readers: null,
    }
    bitstreams.push({ ...shown, ...(await store.keep(path)) })
  }
  const storage = await openStore(config, { create: true })
  const item = {
    identifier: 'bench',
    metadata: {},
    collections: [],
    readers: [{ reader: 'eperson' as const }],
  }
  await storage.repository.putItems([{ ...item, fingerprint: '', bitstreams }], commandEvent('item.add'), [])
  await storage.close()
}

function contentPaths(): readonly string[] {
  const db = new DatabaseSync(join(folder, 'carrel.db'), { readOnly: true })
  const rows = db.prepare('SELECT uuid FROM bitstream').all() as { uuid: string }[]
  db.close()
  return rows.map(({ uuid }) => `/api/core/bitstreams/${uuid}/content`)
}

function events() {
  const db = new DatabaseSync(join(folder, 'carrel.db'), { readOnly: true })
  const row = db
    .prepare(
      `SELECT count(*) AS rows, coalesce(sum(count), 0) AS sum, coalesce(sum(length(coalesce(repeats, ''))), 0) AS bytes
       FROM event WHERE event IN ('refresh', 'short-lived-token', 'download')`,
    )
    .get() as { rows: number; sum: number; bytes: number }
  db.close()
  return row
}
