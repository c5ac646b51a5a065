import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { commandEvent } from '../../../src/cli/store.ts'
import type { Client } from '../clients/client.ts'
import { runSql } from '../service/databases.ts'
import { carrel, type Finished, withoutProgress } from '../service/process.ts'
import { type Service, startService } from '../service/service.ts'
import { addNestedGroup } from './nested-groups.ts'
import { asNewItem } from './policies.ts'

export const copy = (dataFolder: string, url: string, ...more: readonly string[]): Promise<Finished> => {
  const { to, env } = withoutPassword(url)
  return carrel(dataFolder, ['copy', '--to', to, ...more], { env })
}

/** Splits an address for the command: its password goes into the environment, not into an argument. */
export function withoutPassword(address: string) {
  const url = new URL(address)
  const env = { PGPASSWORD: decodeURIComponent(url.password) }
  url.password = ''
  return { to: url.href, env }
}

export function assertDone({ code, stdout, stderr }: Finished): string {
  assert.equal(code, 0, stdout + stderr)
  assert.equal(withoutProgress(stderr), '')
  return stdout
}

/** Asserts one line on standard error, and nothing on standard output (D1). */
export function assertRefused({ code, stdout, stderr }: Finished, expected: 1 | 2, says: RegExp): void {
  assert.equal(code, expected, stdout + stderr)
  assert.equal(stdout, '')
  assert.match(withoutProgress(stderr), /^carrel: [^\n]+\n$/, 'one line')
  assert.match(stderr, says)
  assert.doesNotMatch(stderr, /\.ts:\d|node:internal/, 'no stack')
}

/** Starts a service on the copy. */
export const startOn = (
  t: TestContext,
  url: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Service> => startService(t, { env: { CARREL_DATABASE_URL: url, ...env } })

/** True if the database contains nothing that was copied or that copying creates. */
export async function isEmpty(url: string): Promise<boolean> {
  const [tables] = await runSql<{ there: boolean }>(
    url,
    "SELECT to_regclass('carrel.event') IS NOT NULL AS there",
  )
  if (!tables?.there) return true
  const [counted] = await runSql<{ rows: number; versions: number }>(
    url,
    `SELECT ((SELECT count(*) FROM carrel.eperson) + (SELECT count(*) FROM carrel.membership)
         + (SELECT count(*) FROM carrel.event) + (SELECT count(*) FROM carrel.entity) + (SELECT count(*) FROM carrel.rank)
         + (SELECT count(*) FROM carrel.epersongroup WHERE name <> 'Administrator'))::integer AS rows,
       (SELECT count(*) FROM pg_tables WHERE schemaname = 'carrel' AND tablename LIKE 'records.%')::integer AS versions`,
  )
  return counted?.rows === 0 && counted.versions === 0
}

export const tricky: readonly (string | null)[] = [
  ...[null, '', ' ', '\\', '\\N', '\\.', '\\t', '\\\\n', '\\x41', 'back\\slash\\', 'a\\\nb', '\t', 'tab\tin'],
  ...['line\nend', 'end\n', '\r', 'cr\r\nlf', '"quoted"', "it's", '🦉', '\u{10ffff}', '\u{10000}', '\uffff'],
  ...['\ufeff', '\u2028', '\b\f\v\x01\x7f', 'é', 'e\u0301', 'NULL', 'null', '{}', '$1', 'a'.repeat(3_000)],
]

/** Starts a service that has been used, so that its store has data of every kind. */
export async function usedStore(
  t: TestContext,
  env: Readonly<Record<string, string>> = {},
): Promise<Service> {
  const service = await startService(t, { engine: 'sqlite', env })
  await service.addEperson('root@example.org', { admin: true })
  await service.addEperson('ruth@example.org', { groups: ['Readers', 'Löwe & "Söhne"\\\t🦉'] })
  await service.addEperson('carl@example.org')
  await service.addEperson('gone@example.org', { groups: ['Readers'] })
  await service.addEperson('none@example.org', { password: null })
  await service.storage.people.setEnabled('gone@example.org', false, commandEvent('eperson.disable'))
  for (const [n, text] of tricky.entries()) {
    const email = `${n}.Mixed+Case@Example.ORG`
    const name = { email, firstName: text, lastName: tricky.at(-n) ?? null }
    const added = { ...name, passwordHash: null, administrator: false }
    await service.storage.people.addEperson(added, commandEvent('eperson.add'))
    await service.storage.trail.record(commandEvent('entity.import', text))
    if (text !== null) await service.storage.people.addGroup(`${n} ${text}`, commandEvent('group.add'))
  }
  await addNestedGroup(service.storage)
  await service.storage.repository.putItems(tricky.map(trickyItem), commandEvent('item.add'), [])
  await writeSite(service, tricky)
  return service
}

/** Gives the site metadata, in one change. */
export async function writeSite(
  { storage: { repository } }: Service,
  texts: readonly (string | null)[],
): Promise<void> {
  const { revision } = await repository.site()
  const values = texts.map(text => ({ value: text ?? '', language: text }))
  const metadata = { 'dspace.cms.footer': values }
  const edit = { kind: 'edit-site', site: 'the site', revision, metadata } as const
  assert.equal(await repository.change(edit, commandEvent('site.change')), 'changed')
}

const trickyItem = (text: string | null, n: number) =>
  asNewItem({
    identifier: `${n} ${text}`,
    title: text,
    issued: n % 3 === 0 ? null : text,
    readers: [
      { reader: n % 2 === 0 ? 'anonymous' : `group:${text}`, ...(n % 4 === 0 ? { from: '2020-02-29' } : {}) },
    ],
    bitstreams: [
      { name: `${text}.txt`, readers: null },
      { name: 'own.txt', readers: [{ reader: 'eperson' }] },
    ],
  })

/** Asserts the same status, body and headers from both clients, but for the snapshots in links: each store has its own. */
export async function assertSame(before: Client, now: Client, path: string, accept: string): Promise<string> {
  const [old, copied] = await Promise.all(
    [before, now].map(async client => {
      const response = await client.get(path, { accept })
      const shown = ['content-type', 'x-records', 'link'].map(name =>
        response.headers.get(name)?.replaceAll(/snapshot=[\w-]+/g, 'snapshot='),
      )
      return { status: response.status, shown, body: await response.text() }
    }),
  )
  assert.equal(old?.status, 200, `${path}: ${old?.body}`)
  assert.deepEqual(copied, old, `${path} as ${accept}`)
  return old.body
}
