import type { IconNode } from 'lucide'
import type { ComponentType, JSX } from 'preact'
import type { Key } from './i18n/i18n.ts'
import { Database, HeartPulse, ListChecks, PackageOpen, ScrollText, Users, UsersRound } from './icons.ts'
import { Lazy, type Load } from './parts/Lazy.tsx'
import { type Parameters, path } from './router.ts'

interface Route {
  readonly pattern: readonly string[]
  readonly load: Load<{ readonly parameters: Parameters }>
}

const route = (
  pattern: string,
  load: () => Promise<{ readonly default: ComponentType<{ readonly parameters: Parameters }> }>,
): Route => ({
  pattern: pattern === '' ? [] : pattern.split('/'),
  load: async () => (await load()).default,
})

/** A route to a page of administrators, which needs their dictionary. */
const administration: typeof route = (pattern, load) =>
  route(pattern, async () => {
    const [{ beginAdminTexts }, { administratorsOnly }] = await Promise.all([
      import('./i18n/admin.ts'),
      import('./pages/AdministratorsOnly.tsx'),
    ])
    const [page] = await Promise.all([load(), beginAdminTexts()])
    return { default: administratorsOnly(page.default) }
  })

/** Every page by its path; `:name` matches any one part. Each page is loaded when it is opened. */
const routes: readonly Route[] = [
  route('', () => import('./pages/home/Home.tsx')),
  route('login', () => import('./pages/login/Login.tsx')),
  route('entities/:entity', () => import('./pages/entity/EntityPage.tsx')),
  route('entities/:entity/draw', () => import('./pages/draw/DrawPage.tsx')),
  route('entities/:entity/records/:key', () => import('./pages/record/RecordPage.tsx')),
  route('questions', () => import('./pages/questions/QuestionsPage.tsx')),
  route('search', () => import('./pages/search/SearchPage.tsx')),
  route('items', () => import('./pages/items/Items.tsx')),
  route('items/:uuid', () => import('./pages/items/ItemPage.tsx')),
  route('account', () => import('./pages/account/Account.tsx')),
  route('sessions', () => import('./pages/account/Sessions.tsx')),
  route('tokens', () => import('./pages/account/Tokens.tsx')),
  administration('admin/people', () => import('./pages/people/People.tsx')),
  administration('admin/people/:uuid', () => import('./pages/people/Person.tsx')),
  administration('admin/groups', () => import('./pages/groups/Groups.tsx')),
  administration('admin/groups/:uuid', () => import('./pages/groups/Group.tsx')),
  administration('admin/entities', () => import('./pages/entities-admin/Entities.tsx')),
  administration('admin/new-entity', () => import('./pages/entities-admin/NewEntity.tsx')),
  administration('admin/entities/:name', () => import('./pages/entities-admin/EntityAdmin.tsx')),
  administration('admin/tables', () => import('./pages/entities-admin/Tables.tsx')),
  administration('admin/tables/:schema/:name', () => import('./pages/entities-admin/ShowTable.tsx')),
  administration('admin/import', () => import('./pages/import/Import.tsx')),
  administration('admin/items', () => import('./pages/items-admin/Items.tsx')),
  administration('admin/items/:uuid', () => import('./pages/items-admin/ItemAdmin.tsx')),
  administration('admin/ingest', () => import('./pages/items-admin/Ingest.tsx')),
  administration('admin/processes', () => import('./pages/processes/Processes.tsx')),
  administration('admin/processes/:id', () => import('./pages/processes/Process.tsx')),
  administration('admin/audit', () => import('./pages/audit/Audit.tsx')),
  administration('admin/audit/:id', () => import('./pages/audit/Event.tsx')),
  administration('admin/system', () => import('./pages/system/Doctor.tsx')),
  administration('admin/system/sign-on', () => import('./pages/system/SignOn.tsx')),
  administration('admin/system/logins', () => import('./pages/system/Logins.tsx')),
  administration('admin/system/figures', () => import('./pages/system/Figures.tsx')),
  administration('admin/system/backups', () => import('./pages/system/Backups.tsx')),
  administration('admin/system/alert', () => import('./pages/system/Alert.tsx')),
]

const missing = route('', () => import('./pages/Missing.tsx'))

/** Pages of administrators that the navigation lists. */
export const navigation: readonly {
  readonly path: string
  readonly icon: IconNode
  readonly name: Key
}[] = [
  { path: 'admin/people', icon: Users, name: 'nav.people' },
  { path: 'admin/groups', icon: UsersRound, name: 'nav.groups' },
  { path: 'admin/entities', icon: Database, name: 'nav.entities' },
  { path: 'admin/items', icon: PackageOpen, name: 'nav.archive' },
  { path: 'admin/processes', icon: ListChecks, name: 'nav.processes' },
  { path: 'admin/audit', icon: ScrollText, name: 'nav.audit' },
  { path: 'admin/system', icon: HeartPulse, name: 'nav.system' },
]

function match({ pattern }: Route, parts: readonly string[]): Parameters | undefined {
  if (pattern.length !== parts.length) return undefined
  const parameters: Record<string, string> = {}
  for (const [at, name] of pattern.entries()) {
    const part = parts[at] ?? ''
    if (name.startsWith(':')) parameters[name.slice(1)] = decode(part)
    else if (name !== part) return undefined
  }
  return parameters
}

const decode = (part: string) => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/**
 * Shows the page of the current address. Another address makes a new page, with no state of the one before.
 */
export function OpenPage(): JSX.Element {
  const parts = path.value === '' ? [] : path.value.split('/')
  for (const one of routes) {
    const parameters = match(one, parts)
    if (parameters) return <Lazy key={path.value} load={one.load} with={{ parameters }} />
  }
  return <Lazy key="missing" load={missing.load} with={{ parameters: {} }} />
}
