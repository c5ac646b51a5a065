import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, watch } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { commandEvent } from '../../src/cli/store.ts'
import type { RecordEntity } from '../../src/storage/entities.ts'
import { fold } from '../../src/storage/records/folding.ts'
import { Client } from '../support/clients/client.ts'
import { list } from '../support/clients/listings.ts'
import { atEnd } from '../support/service/at-end.ts'
import { createDatabase, runSql } from '../support/service/databases.ts'
import { connectTo, lockTable } from '../support/service/nodes.ts'
import { type Served, serve } from '../support/service/process.ts'
import { startService, temporaryFolder } from '../support/service/service.ts'
import { until } from '../support/service/waiting.ts'

const email = 'ruth@example.org'
/** More changes at once than are left to wait (docs/decisions/0041). */
const count = 1_000
const isLease = "id = 'fold works'"

interface Node extends Pick<Served, 'address' | 'pid' | 'signal' | 'ended'> {
  readonly dataFolder: string
}

const start = async (t: TestContext, url: string, dataFolder = temporaryFolder(t)): Promise<Node> => {
  mkdirSync(join(dataFolder, 'fields'), { recursive: true })
  return { dataFolder, ...(await serve(t, dataFolder, { env: { CARREL_DATABASE_URL: url } })) }
}

/** Makes a store with works that everybody who is logged in may write. */
async function storeWithWorks(t: TestContext): Promise<string> {
  const url = await createDatabase(t)
  await t.test('prepare', async prepare => {
    const service = await startService(prepare, { env: { CARREL_DATABASE_URL: url } })
    await service.addEperson(email)
    const works = Array.from({ length: count }, (_, id) => ({ id, title: 'new' }))
    await service.addRecords('works', 'id', works)
    await service.storage.entities.changeWriteRule('works', 'eperson', commandEvent('entity.writers'))
  })
  return url
}

/** Changes every record in one step. */
async function rewrite(address: string, title: string): Promise<void> {
  const client = new Client(address)
  await client.login(email)
  const query = encodeURIComponent('["~", "title", "."]')
  const response = await client.request(`/api/query/v4/works?query=${query}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    body: JSON.stringify({ title }),
  })
  assert.equal(response.status, 200, await response.text())
}

async function assertTitles(addresses: readonly string[], title: string): Promise<void> {
  for (const address of addresses) {
    const found = await list<{ title: string }>(new Client(address), 'works')
    assert.equal(found.length, count)
    assert.deepEqual(new Set(found.map(one => one.title)), new Set([title]))
  }
}

const versionIn = async (url: string) =>
  (await runSql<{ version: string }>(url, "SELECT version FROM carrel.entity WHERE name = 'works'"))[0]
    ?.version

/** Waits until all changes are in a version. */
const untilFolded = (url: string) =>
  until(
    'a version with all changes',
    () => runSql(url, 'SELECT 1 FROM carrel.record_change LIMIT 1'),
    left => left.length === 0,
  )

/** The folders of files of fields that belong to no version. */
async function deadFiles(url: string, dataFolder: string): Promise<readonly string[]> {
  const stored = await runSql<{ version: string }>(
    url,
    `SELECT version FROM carrel.entity UNION SELECT version FROM carrel.retired
     UNION SELECT version FROM carrel.held_version UNION SELECT version FROM carrel.kept_version`,
  )
  const versions = new Set(stored.map(({ version }) => version))
  return readdirSync(join(dataFolder, 'fields')).filter(name => !versions.has(name))
}

/** Waits until that many connections wait for a lock of this kind. */
const untilWaitingFor = (url: string, kind: 'advisory' | 'relation', waiting: number) =>
  until(
    `${waiting} connections that wait`,
    () =>
      runSql(
        url,
        `SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = '${kind}'
           AND (database IS NULL OR database = (SELECT oid FROM pg_database WHERE datname = current_database()))`,
      ),
    found => found.length >= waiting,
  )

/** Takes the lease for a program of another machine, when no node has it. */
const keepLease = (url: string) =>
  until(
    'the lease',
    () =>
      runSql(
        url,
        `INSERT INTO carrel.ticket VALUES ('fold works', '["another machine", 1, null]', 1e15) ON CONFLICT (id)
           DO UPDATE SET content = excluded.content, expires = excluded.expires
           WHERE ticket.content = '' RETURNING id`,
      ),
    taken => taken.length === 1,
  )
/** Leaves it to the nodes. */
const giveLease = (url: string) => runSql(url, `UPDATE carrel.ticket SET content = '' WHERE ${isLease}`)

/** Keeps revisions from being published, after their files have been written. */
async function holdRevisions(t: TestContext, url: string): Promise<() => Promise<void>> {
  const client = await connectTo(t, url)
  const key = "hashtext('carrel revision'), hashtext('works')"
  await client.query(`SELECT pg_advisory_lock(${key})`)
  return async () => {
    await client.query(`SELECT pg_advisory_unlock(${key})`)
  }
}

test('R8 of three nodes one folds, and the others write no files', async t => {
  const url = await storeWithWorks(t)
  await runSql(
    url,
    `CREATE TABLE published (version TEXT); CREATE FUNCTION note_version() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN INSERT INTO public.published VALUES (NEW.version); RETURN NULL; END $$;
     CREATE TRIGGER noted AFTER UPDATE ON carrel.entity FOR EACH ROW
       WHEN (OLD.version <> NEW.version) EXECUTE FUNCTION note_version()`,
  )
  const nodes = await Promise.all([1, 2, 3].map(() => start(t, url)))
  const made = new Set<string>()
  const imported = await versionIn(url)
  for (const { dataFolder } of nodes) {
    const watching = watch(join(dataFolder, 'fields'), (_, name) => name !== null && made.add(name))
    atEnd(t, async () => watching.close())
  }
  for (const title of ['a', 'b', 'c', 'd', 'e']) {
    await rewrite(nodes[0]?.address ?? '', title)
    await untilFolded(url)
  }
  await assertTitles(
    nodes.map(({ address }) => address),
    'e',
  )
  const published = await runSql<{ version: string }>(url, 'SELECT version FROM published')
  // The first questions may make files of the version that was imported.
  if (imported !== undefined) made.delete(imported)
  assert.deepEqual([...made].toSorted(), published.map(({ version }) => version).toSorted())
})

test('R8 a node that loses the race for a new version removes what it has written of its own at once', async t => {
  const url = await storeWithWorks(t)
  const nodes = await Promise.all(
    [1, 2].map(() => startService(t, { env: { CARREL_DATABASE_URL: url }, dataFolder: temporaryFolder(t) })),
  )
  await keepLease(url)
  await rewrite(nodes[0]?.address ?? '', 'a')
  const release = await holdRevisions(t, url)
  const folding = Promise.all(
    nodes.map(async ({ storage: { entities } }) =>
      fold((await entities.all()).get('works') as RecordEntity, entities),
    ),
  )
  await untilWaitingFor(url, 'advisory', 2)
  await release()
  assert.deepEqual((await folding).toSorted(), [false, true])
  for (const { dataFolder } of nodes) assert.deepEqual(await deadFiles(url, dataFolder), [])
})

/** The moments at which the node that folds is killed. Each keeps it there, and returns a function that lets the others go on. */
const moments: readonly {
  readonly name: string
  readonly reach: (t: TestContext, url: string) => Promise<() => Promise<void>>
}[] = [
  {
    name: 'before it has written files',
    reach: async (t, url) => {
      const goOn = await lockTable(t, url, 'rank')
      await giveLease(url)
      await untilWaitingFor(url, 'relation', 1)
      return goOn
    },
  },
  {
    name: 'before it has published them',
    reach: async (t, url) => {
      const goOn = await holdRevisions(t, url)
      await giveLease(url)
      await untilWaitingFor(url, 'advisory', 1)
      return goOn
    },
  },
  {
    name: 'after it has published them',
    reach: async (t, url) => {
      const before = await versionIn(url)
      const publish = await holdRevisions(t, url)
      await giveLease(url)
      await untilWaitingFor(url, 'advisory', 1)
      const client = await connectTo(t, url)
      await client.query(`BEGIN; SELECT 1 FROM carrel.ticket WHERE ${isLease} FOR UPDATE`)
      await publish()
      await until(
        'a new version',
        () => versionIn(url),
        version => version !== before,
      )
      return async () => {
        await client.query('ROLLBACK')
      }
    },
  },
]

test('R1 R8 D4 when the node that folds is killed, another one folds, nothing that was acknowledged is lost, and no files are left', async t => {
  const url = await storeWithWorks(t)
  await keepLease(url)
  // The first fold has to read the ranks, which no node has read for a write.
  await t.test('write', async prepare => {
    const { address } = await startService(prepare, { env: { CARREL_DATABASE_URL: url } })
    await rewrite(address, moments[0]?.name ?? '')
  })
  let nodes = await Promise.all([1, 2, 3].map(() => start(t, url)))
  for (const [at, { name, reach }] of moments.entries()) {
    if (at > 0) {
      await keepLease(url)
      await rewrite(nodes[0]?.address ?? '', name)
    }
    const goOn = await reach(t, url)
    const [ticket] = await runSql<{ content: string }>(
      url,
      `SELECT content FROM carrel.ticket WHERE ${isLease}`,
    )
    const victim = nodes.find(({ pid }) => ticket?.content.includes(`,${pid},`))
    assert.ok(victim, `a node folds ${name}: ${ticket?.content}`)
    victim.signal('SIGKILL')
    assert.equal((await victim.ended).signal, 'SIGKILL')
    await goOn()
    const others = nodes.filter(one => one !== victim)
    const addresses = others.map(({ address }) => address)
    await assertTitles(addresses, name)
    await untilFolded(url)
    await assertTitles(addresses, name)
    await rewrite(addresses[0] ?? '', `${name} and again`)
    await untilFolded(url)
    await assertTitles(addresses, `${name} and again`)
    nodes = [...others, await start(t, url, victim.dataFolder)]
    for (const { dataFolder } of nodes)
      await until(
        'a folder without dead files',
        () => deadFiles(url, dataFolder),
        found => found.length === 0,
      )
  }
})
