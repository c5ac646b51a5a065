import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { buildApp } from '../../../src/app.ts'
import { commandEvent } from '../../../src/cli/store.ts'
import type { NewBitstream } from '../../../src/model/items.ts'
import type { Readers } from '../../../src/model/readers.ts'
import { Client } from '../../support/clients/client.ts'
import { everybody, membersOf, titled } from '../../support/data/repository.ts'
import { atEnd } from '../../support/service/at-end.ts'
import { test } from '../../support/service/engines.ts'
import { baseUrl, startService } from '../../support/service/service.ts'

/** The number of rows that the service has read from its store. */
interface Reading {
  rows: number
}

/** Counts the rows returned by every method. */
function counted<T extends object>(store: T, reading: Reading): T {
  const count = (result: unknown) => {
    const rows = (result as { rows?: unknown } | undefined)?.rows ?? result
    reading.rows += Array.isArray(rows) ? rows.length : rows === undefined ? 0 : 1
    return result
  }
  const methods = Object.entries(store).map(([name, method]) => [
    name,
    (...args: unknown[]) => {
      const result = method(...args)
      return result instanceof Promise ? result.then(count) : count(result)
    },
  ])
  return Object.fromEntries(methods) as T
}

/**
 * Starts a service whose reading of items and people is counted, with an administrator and a member of
 * `Readers`.
 */
async function started(t: TestContext) {
  const service = await startService(t)
  const reading: Reading = { rows: 0 }
  const { repository, people } = service.storage
  const app = await buildApp(service.config, {
    ...service.storage,
    repository: counted(repository, reading),
    people: counted(people, reading),
  })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  atEnd(t, () => app.close())
  await service.addEperson('admin@example.org', { admin: true })
  await service.addEperson('ruth@example.org', { groups: ['Readers'] })
  const loggedIn = async (email: string) => {
    const client = new Client(address)
    const other = await service.loggedIn(email)
    client.token = other.token
    return client
  }
  const admin = await loggedIn('admin@example.org')
  const ruth = await loggedIn('ruth@example.org')
  return { service, reading, admin, ruth, nobody: new Client(address) }
}

interface Page {
  readonly _embedded: Readonly<Record<string, readonly { readonly name: string; readonly uuid: string }[]>>
  readonly _links: Readonly<Record<string, { readonly href: string }>>
  readonly page: { readonly totalElements: number }
}

/** Maximum number of rows that a request reads for its caller and for the objects in its address. */
const overhead = 10

/**
 * Reads all pages from this one on, and checks that each reads no more rows than it shows. @returns the
 * elements and the total
 */
async function pagesOf(client: Client, reading: Reading, path: string, size: number) {
  const found: { name: string; uuid: string }[] = []
  let total: number | undefined
  for (let next: string | undefined = path; next !== undefined; ) {
    reading.rows = 0
    const answer = await client.get(next)
    const text = await answer.text()
    assert.equal(answer.status, 200, text)
    assert.ok(reading.rows <= size + overhead, `${next} reads ${reading.rows} rows`)
    const page = JSON.parse(text) as Page
    total ??= page.page.totalElements
    assert.equal(page.page.totalElements, total)
    found.push(...(Object.values(page._embedded)[0] ?? []))
    next = page._links.next?.href.slice(baseUrl.length)
  }
  return { names: found.map(({ name }) => name), found, total }
}

const file = (number: number, bundle: string, readers: Readers | null): NewBitstream => ({
  name: `${bundle} ${number}`,
  bundle,
  description: null,
  mimeType: 'text/plain',
  readers,
  sha256: '0'.repeat(64),
  size: 1,
})

test('Q11 P4 a page of the files of an item reads that page, and what the caller may not see is not in it', async t => {
  const { service, reading, admin, ruth, nobody } = await started(t)
  const count = 120
  const bitstreams = Array.from({ length: count }, (_, at) => [
    file(at, 'ORIGINAL', at % 3 === 0 ? everybody : at % 3 === 1 ? membersOf('Readers') : []),
    { ...file(at, 'THUMBNAIL', everybody), name: `ORIGINAL ${at}.jpg` },
  ]).flat()
  const item = {
    identifier: 'long/1',
    metadata: titled('Long'),
    collections: [],
    readers: everybody,
    bitstreams,
    fingerprint: '',
  }
  await service.storage.repository.putItems([item], commandEvent('item.add'), [])
  const uuid = await service.storage.repository.uuidOf('long/1')
  const at = `/api/core/items/${uuid}`
  const { found: bundles } = await pagesOf(nobody, reading, `${at}/bundles?size=1`, 1)
  assert.deepEqual(
    bundles.map(({ name }) => name),
    ['ORIGINAL', 'THUMBNAIL'],
  )
  const files = `/api/core/bundles/${bundles[0]?.uuid}/bitstreams`
  const seen = (sees: (at: number) => boolean) =>
    Array.from({ length: count }, (_, n) => n)
      .filter(sees)
      .map(n => `ORIGINAL ${n}`)
  for (const [client, sees] of [
    [nobody, (n: number) => n % 3 === 0],
    [ruth, (n: number) => n % 3 !== 2],
    [admin, () => true],
  ] as const) {
    const { names, total } = await pagesOf(client, reading, `${files}?size=7`, 7)
    assert.deepEqual(names, seen(sees))
    assert.equal(total, names.length)
  }
  for (const path of [
    `${at}/accessStatus`,
    `${at}/thumbnail`,
    `${files}?size=1&page=39`,
    files.replace(/[/]\w+$/, ''),
  ]) {
    reading.rows = 0
    assert.equal((await nobody.get(path)).status, 200, path)
    assert.ok(reading.rows <= 20 + overhead, `${path} reads ${reading.rows} rows`)
  }
  const picture = (await (await nobody.get(`${at}/thumbnail`)).json()) as { name: string }
  assert.equal(picture.name, 'ORIGINAL 0.jpg')
})

test('S4 Z1 a page of epersons, of a search or of a group reads that page', async t => {
  const { service, reading, admin } = await started(t)
  const { people } = service.storage
  const persons = Array.from({ length: 40 }, (_, at) => ({
    email: `${at % 2 === 0 ? 'P' : 'p'}erson${(at * 7) % 40}@example.org`,
    firstName: at % 4 === 0 ? null : 'Åsa',
    lastName: at % 5 === 0 ? null : `ÖRN ${at % 3}`,
    passwordHash: null,
    administrator: false,
  }))
  await people.ensureGroups(['Few', 'Many', 'Ärzte'])
  for (const [at, person] of persons.entries()) {
    await people.addEperson(person, commandEvent('eperson.add'))
    if (at % 10 === 0) await people.join('Few', person.email, commandEvent('group.join'))
    if (at % 10 !== 1) await people.join('Many', person.email, commandEvent('group.join'))
  }
  const all = (await people.listEpersons()).toSorted((a, b) =>
    a.email.toLowerCase() < b.email.toLowerCase() ? -1 : 1,
  )
  const groups = new Map((await people.listGroups()).map(({ name, uuid }) => [name, uuid]))
  const emails = (which: (one: (typeof all)[number]) => boolean) =>
    all.filter(which).map(({ email }) => email)
  const has = (text: string) => (one: (typeof all)[number]) =>
    [one.email, one.firstName, one.lastName, `${one.firstName} ${one.lastName}`].some(part =>
      part?.toLowerCase().includes(text),
    )
  const epersons = '/api/eperson/epersons'
  for (const [path, expected] of [
    [epersons, emails(() => true)],
    [`${epersons}/search/byMetadata?query=`, emails(() => true)],
    [`${epersons}/search/byMetadata?query=PERSON1`, emails(has('person1'))],
    [`${epersons}/search/byMetadata?query=%20%C3%85SA%20%C3%B6rn%201`, emails(has('åsa örn 1'))],
    [`${epersons}/search/byMetadata?query=%25`, []],
    [`${epersons}/search/byMetadata?query=%00`, []],
    [`${epersons}/search/byMetadata?query=${all[5]?.uuid.toUpperCase()}`, emails(one => one === all[5])],
    ...['Few', 'Many'].flatMap(group => [
      [
        `/api/eperson/groups/${groups.get(group)}/epersons`,
        emails(one => one.groups.includes(group)),
      ] as const,
      [
        `${epersons}/search/isNotMemberOf?query=&group=${groups.get(group)}`,
        emails(one => !one.groups.includes(group)),
      ] as const,
      [
        `${epersons}/search/isNotMemberOf?query=%C3%B6rn&group=${groups.get(group)}`,
        emails(one => has('örn')(one) && !one.groups.includes(group)),
      ] as const,
    ]),
    [
      `${epersons}/search/isNotMemberOf?query=&group=00000000-0000-4000-8000-000000000000`,
      emails(() => true),
    ],
    ['/api/eperson/groups', ['Administrator', 'Few', 'Many', 'Readers', 'Ärzte']],
    ['/api/eperson/groups/search/byMetadata?query=%C3%84RZ', ['Ärzte']],
    [`/api/eperson/groups/search/byMetadata?query=${groups.get('Few')}`, ['Few']],
  ] as const) {
    const size = 9
    const { names, total } = await pagesOf(
      admin,
      reading,
      `${path}${path.includes('?') ? '&' : '?'}size=${size}`,
      size,
    )
    assert.deepEqual(names, expected, path)
    assert.equal(total, expected.length)
  }
})
