import { dirname } from 'node:path'
import { mock } from 'node:test'
import { scratch } from '../bench/support/folder.ts'
import { logIn, type Person, password } from '../bench/support/session.ts'
import { buildApp } from '../src/app.ts'
import { hashPassword } from '../src/authn/passwords.ts'
import { createDemo } from '../src/cli/demo.ts'
import { commandEvent, openStore } from '../src/cli/store.ts'
import { toConfig } from '../src/config/config.ts'
import { watchCalls } from './called-files.ts'
import { describedWalks, putCounts } from './described-walks.ts'

/**
 * Counts the files of each walk of docs/architecture.md: those of which a function is called during one
 * request to a listening service with the demo's records, on the embedded store, in one event loop. Each
 * request has been answered before, so that things loaded, read and cached only once are not counted.
 * `npm run walks` prints the files and writes their numbers into the page; with `--check`, it fails if they are others.
 */

// The service's repeated tasks belong to no request, so they never run here.
mock.timers.enable({ apis: ['setInterval'] })
const json = 'application/json'
const calls = await watchCalls()
const config = toConfig({ CARREL_DATA: scratch(), CARREL_WORKERS: '1', CARREL_LOG_LEVEL: 'silent' })
const storage = await openStore(config, { create: true })
const app = await buildApp(config, storage)
const address = await app.listen({ host: '127.0.0.1', port: 0 })

await createDemo(storage, config.files)
await storage.entities.changeWriteRule('letters', 'eperson', commandEvent('entity.writers'))
const reader = await addPerson('walks@example.org', false)
const administrator = await addPerson('walking-admin@example.org', true)
const asReader = await logIn(address, reader.email)
const asAdministrator = await logIn(address, administrator.email)
const item = await add('/api/core/items', { metadata: {} })
const bundle = await add(`/api/core/items/${item}/bundles`, { name: 'ORIGINAL' })
/** Files to download, each once: the second download of one is only counted (docs/decisions/0069). */
const contents: string[] = []
for (let n = 0; n < 20; n++) {
  const content = await upload(`the one to download ${n}`)
  await send(
    `/api/authz/resourcepolicies?resource=${content}&eperson=${reader.uuid}`,
    as(asAdministrator, 'POST', { action: 'READ', policyType: 'TYPE_CUSTOM' }),
  )
  contents.push(content)
}

const renaming = (name: string) => [
  { op: 'replace', path: '/metadata/eperson.firstname', value: [{ value: name }] },
]

/** @param n differs each time, so that no answer comes from a cache */
const walks: Readonly<Record<string, (n: number) => Promise<unknown>>> = {
  Status: () => send('/api/authn/status', as(asReader)),
  Login: () =>
    send('/api/authn/login', {
      method: 'POST',
      headers: { cookie: asReader.cookie, 'x-xsrf-token': asReader.csrf },
      body: new URLSearchParams({ user: reader.email, password }),
    }),
  'A page': n =>
    send(
      `${config.queryBase}/letters?${new URLSearchParams({
        order_by: '[{"field":"catalogued","order":"desc"}]',
        limit: '10',
        offset: String(n * 10),
        include_total: 'true',
      })}`,
      as(asReader),
    ),
  'A question': n => ask(`letters[title, year] { sender = "Abel" and year > ${1800 + n} }`),
  'A question about a table': n => ask(`bitstreams[name, size] { size > ${n} }`),
  'A record is written': n =>
    send(
      `${config.queryBase}/letters/${n}`,
      as(asReader, 'PUT', { id: n, title: `Walk ${n}`, year: 1800 + n }),
    ),
  'A file is uploaded': n => upload(`walk ${n}`),
  'An eperson is changed': n =>
    send(
      `/api/eperson/epersons/${reader.uuid}`,
      as(asAdministrator, 'PATCH', renaming(`Ada ${n}`), 'application/json-patch+json'),
    ),
  'A download': n => send(`/api/core/bitstreams/${contents[n]}/content`, as(asReader)),
}

/** Notes on files that guide a reader but are not called by any request. */
const isOnTheWay = /^(interface|list|wiring)$/
const isCheck = process.argv.includes('--check')
let allCalled = true
const counts = new Map<string, string>()
for (const { name, files: named } of describedWalks()) {
  const request = walks[name]
  if (!request) throw new Error(`docs/architecture.md has a walk ${name}, and no request is made for it`)
  let n = 1
  const files = await calls.during(async () => void (await request(n++)))
  const folders = Map.groupBy(files, file => dirname(`src/${file}`))
  counts.set(name, `${files.length} files in ${folders.size} folders`)
  if (!isCheck) console.log(`${name}: ${counts.get(name)}`)
  for (const [folder, inside] of isCheck ? [] : folders) {
    const names = inside.map(file => file.slice(folder.length - 'src'.length))
    console.log(`  ${folder}: ${names.join(', ')}`)
  }
  const notCalled = named.filter(
    ({ path, note }) => path !== 'app.ts' && !isOnTheWay.test(note) && !files.includes(path),
  )
  for (const { path } of notCalled)
    console.log(`docs/architecture.md names ${path} in ${name}, and nothing of it was called`)
  allCalled &&= notCalled.length === 0
}
const wasRight = putCounts(counts, isCheck)
if (!wasRight && isCheck)
  console.log('docs/architecture.md has other numbers: run `npm run walks` and commit the page')
await app.close()
await storage.close()
process.exit(allCalled && (wasRight || !isCheck) ? 0 : 1)

async function addPerson(email: string, isAdministrator: boolean) {
  const added = await storage.people.addEperson(
    {
      email,
      firstName: 'Ada',
      lastName: 'Walker',
      administrator: isAdministrator,
      passwordHash: await hashPassword(Buffer.from(password)),
    },
    commandEvent('eperson.add'),
  )
  if (added === 'exists') throw new Error(`the eperson ${email} exists already`)
  return added
}

function as({ token, cookie, csrf }: Person, method = 'GET', body?: unknown, type = json): RequestInit {
  const headers = { authorization: `Bearer ${token}`, cookie, 'x-xsrf-token': csrf }
  if (body === undefined) return { method, headers }
  if (body instanceof FormData) return { method, headers, body }
  return { method, headers: { ...headers, 'content-type': type }, body: JSON.stringify(body) }
}

async function send(path: string, init: RequestInit): Promise<string> {
  const response = await fetch(address + path, init)
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  return text
}

function ask(query: string): Promise<string> {
  return send(`${config.queryBase}?${new URLSearchParams({ query, limit: '10' })}`, as(asReader))
}

/** @returns the UUID of the added object */
async function add(path: string, body: object): Promise<string> {
  const added = await send(path, as(asAdministrator, 'POST', body))
  return (JSON.parse(added) as { readonly uuid: string }).uuid
}

function upload(text: string): Promise<string> {
  const form = new FormData()
  form.set('file', new Blob([text], { type: 'text/plain' }), `${text}.txt`)
  return add(`/api/core/bundles/${bundle}/bitstreams`, form)
}
