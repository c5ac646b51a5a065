import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type Desk, lookAt, openDesk, sizes, startDeskService } from '../support/clients/console.ts'
import { fillArchive } from '../support/data/archive.ts'
import { isLong } from '../support/scale.ts'
import { testOn } from '../support/service/engines.ts'
import { type Service, temporaryFolder } from '../support/service/service.ts'

/** An administrators' page in one of its states; in the long run at two sizes and in two themes. */
interface Shown {
  readonly name: string
  readonly path: (known: Known) => string
  /** True if other pages use the same components, so that only the long run checks this one. */
  readonly alike?: true
  /** Brings the page into the state. */
  readonly act?: (desk: Desk) => Promise<unknown>
  /** True if the service refuses a request on the way. */
  readonly refused?: true
}

interface Known {
  readonly person: string
  readonly group: string
  readonly item: string
  readonly process: string
  readonly event: string
}

const click = (name: string | RegExp) => (desk: Desk) =>
  desk.page.getByRole('button', { name }).first().click()

const act = async (desk: Desk, ...names: readonly (string | RegExp)[]) => {
  for (const name of names) await desk.page.getByRole('button', { name }).first().click()
}

const pages: readonly Shown[] = [
  { name: 'people', path: () => 'admin/people' },
  { name: 'people-none', path: () => 'admin/people?q=nobody+like+this', alike: true },
  { name: 'people-add', path: () => 'admin/people', act: click('Add a person') },
  { name: 'person', path: ({ person }) => `admin/people/${person}` },
  {
    name: 'person-actions',
    path: ({ person }) => `admin/people/${person}`,
    act: click('Actions'),
    alike: true,
  },
  {
    name: 'person-delete',
    path: ({ person }) => `admin/people/${person}`,
    act: desk => act(desk, 'Actions', 'Delete the account'),
  },
  {
    name: 'act-as',
    path: ({ person }) => `admin/people/${person}`,
    act: click('Act on behalf'),
    alike: true,
  },
  { name: 'person-missing', path: () => 'admin/people/nobody', refused: true, alike: true },
  { name: 'groups', path: () => 'admin/groups' },
  { name: 'group', path: ({ group }) => `admin/groups/${group}`, alike: true },
  {
    name: 'group-find',
    path: ({ group }) => `admin/groups/${group}`,
    act: async ({ page }) => {
      await page.getByRole('combobox', { name: 'Find a person to add' }).fill('ada')
      await page.getByRole('option').first().waitFor()
    },
  },
  { name: 'entities', path: () => 'admin/entities' },
  { name: 'entity-declared', path: () => 'admin/entities/letters' },
  { name: 'entity-built-in', path: () => 'admin/entities/epersons', alike: true },
  {
    name: 'entity-relation',
    path: () => 'admin/entities/letters',
    act: click('Add a relation'),
    alike: true,
  },
  { name: 'import-empty', path: () => 'admin/import', alike: true },
  {
    name: 'import-preview',
    path: () => 'admin/import',
    act: desk => drop(desk, 'ships.csv', 'id,name,built\n1,Argo,\n2,Ariel,1865\n3,Endurance,1912\n'),
  },
  {
    name: 'import-faults',
    path: () => 'admin/import?entity=places',
    act: desk => drop(desk, 'places.csv', 'name,country\nOslo,NO\nOslo,NO\n'),
  },
  { name: 'admin-items', path: () => 'admin/items' },
  { name: 'admin-items-none', path: () => 'admin/items?q=nothing+like+this' },
  { name: 'admin-item', path: ({ item }) => `admin/items/${item}`, alike: true },
  {
    name: 'admin-item-policy',
    path: ({ item }) => `admin/items/${item}`,
    act: async desk => {
      await desk.page.getByRole('button', { name: 'Allow someone else' }).click()
      await desk.page.getByRole('button', { name: 'Allow it' }).scrollIntoViewIfNeeded()
    },
  },
  { name: 'ingest', path: () => 'admin/ingest' },
  { name: 'processes', path: () => 'admin/processes' },
  { name: 'process-start', path: () => 'admin/processes', act: click('Start a process'), alike: true },
  { name: 'process', path: ({ process }) => `admin/processes/${process}` },
  { name: 'audit', path: () => 'admin/audit' },
  { name: 'audit-none', path: () => 'admin/audit?event=store.copy', alike: true },
  { name: 'audit-event', path: ({ event }) => `admin/audit/${event}` },
  { name: 'doctor', path: () => 'admin/system' },
  {
    name: 'figures',
    path: () => 'admin/system/figures',
    ...(isLong && { act: ({ page }) => page.waitForTimeout(7_000) }),
  },
  { name: 'sign-on-off', path: () => 'admin/system/sign-on' },
  { name: 'logins', path: () => 'admin/system/logins' },
  { name: 'backups', path: () => 'admin/system/backups' },
  { name: 'alert', path: () => 'admin/system/alert' },
]

async function drop({ page }: Desk, name: string, text: string): Promise<void> {
  await page
    .locator('input[type=file]')
    .setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(text) })
  await page.getByRole('heading', { name: 'What is in the file' }).waitFor()
}

/** Creates objects of each kind for the pages to show. */
async function fill(service: Service): Promise<Known> {
  const { item } = await fillArchive(service)
  const client = service.client()
  await client.login('ada@example.org')
  const json = { 'content-type': 'application/json' }
  const made = async (path: string, body: object) =>
    (await (await client.post(path, JSON.stringify(body), json)).json()) as Record<string, string>
  const group = await made('/api/eperson/groups', {
    name: 'Curators',
    metadata: { 'dc.description': [{ value: 'Those who look after the letters' }] },
  })
  const person = await made('/api/eperson/epersons', {
    email: 'eva@example.org',
    canLogIn: true,
    metadata: { 'eperson.firstname': [{ value: 'Eva' }], 'eperson.lastname': [{ value: 'Ortiz' }] },
  })
  await client.post(
    `/api/eperson/groups/${group.uuid}/epersons`,
    `${service.config.baseUrl}/api/eperson/epersons/${person.uuid}`,
    { 'content-type': 'text/uri-list' },
  )
  const started = await client.post('/api/system/scripts/verify/processes')
  const { processId } = (await started.json()) as { processId: string }
  const found = await client.get(
    `/api/query/v4/audit-events?query=${encodeURIComponent('["=","event","eperson.add"]')}&order_by=${encodeURIComponent('[{"field":"id","order":"desc"}]')}&limit=1`,
  )
  const [event] = (await found.json()) as { id: number }[]
  return {
    person: person.uuid ?? '',
    group: group.uuid ?? '',
    item: item.uuid,
    process: processId,
    event: String(event?.id),
  }
}

// Each page is checked at one size and in one theme. The long run has both: the first page is loaded in this
// theme, then they alternate, so that at the other size each is loaded in the other theme.
const looks = [
  ['360', 'light'],
  ['1440', 'dark'],
] as const
for (const [width, theme] of isLong ? looks : looks.slice(1))
  testOn(
    'sqlite',
    `CO3 CO4 every page of administrators is accessible and whole at ${width} px${isLong ? ', light and dark' : `, ${theme}`}`,
    async t => {
      const env = {
        CARREL_LOGIN_ON_BEHALF_OF: 'true',
        CARREL_BACKUPS: join(temporaryFolder(t, 'sqlite'), 'backups'),
      }
      const service = await startDeskService(t, { env })
      const known = await fill(service)
      const desk = await openDesk(t, service.front, { size: sizes[width], theme })
      await desk.logIn('ada@example.org')
      // All faults are collected, because a browser is expensive to start.
      const faults: string[] = []
      for (const { name, path, act: doIt, refused, alike } of pages) {
        if (alike && !isLong) continue
        if (refused) desk.expectRefusals()
        try {
          await desk.open(path(known))
          await doIt?.(desk)
          faults.push(...(await lookAt(desk, `${name}-${width}`)).map(String))
        } catch (error) {
          faults.push(`${name} at ${width} px: ${(error as Error).message}`)
        }
      }
      assert.deepEqual(faults, [])
      desk.assertQuiet()
    },
  )
