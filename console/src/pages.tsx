import type { IconNode } from 'lucide'
import type { ComponentType, JSX } from 'preact'
import type { AdminKey, Key } from './i18n/dictionary.ts'
import { Database, HeartPulse, ListChecks, PackageOpen, ScrollText, Users, UsersRound } from './icons.ts'
import { Lazy, type Load } from './parts/Lazy.tsx'
import { type Parameters, path } from './router.ts'

/** An entry of the navigation of administrators, or a name among the further places that can be gone to. */
type Way = readonly [icon: IconNode, name: Key] | AdminKey

interface Route {
  readonly path: string
  readonly load: Load<{ readonly parameters: Parameters }>
  readonly way: Way | undefined
}

const route = (
  path: string,
  load: () => Promise<{ readonly default: ComponentType<{ readonly parameters: Parameters }> }>,
  way?: Way,
): Route => ({ path, load: async () => (await load()).default, way })

/** A route to a page of administrators, which needs their dictionary. */
const administration: typeof route = (path, load, way) => {
  const loadWithTexts = async () => {
    const [{ beginAdminTexts }, { administratorsOnly }] = await Promise.all([
      import('./i18n/admin.ts'),
      import('./pages/AdministratorsOnly.tsx'),
    ])
    const [page] = await Promise.all([load(), beginAdminTexts()])
    return { default: administratorsOnly(page.default) }
  }
  return route(path, loadWithTexts, way)
}

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
  administration('admin/people', () => import('./pages/people/People.tsx'), [Users, 'nav.people']),
  administration('admin/people/:uuid', () => import('./pages/people/Person.tsx')),
  administration('admin/groups', () => import('./pages/groups/Groups.tsx'), [UsersRound, 'nav.groups']),
  administration('admin/groups/:uuid', () => import('./pages/groups/Group.tsx')),
  administration('admin/entities', () => import('./pages/entities-admin/Entities.tsx'), [
    Database,
    'nav.entities',
  ]),
  administration('admin/new-entity', () => import('./pages/entities-admin/NewEntity.tsx')),
  administration('admin/entities/:name', () => import('./pages/entities-admin/EntityAdmin.tsx')),
  administration('admin/tables', () => import('./pages/entities-admin/Tables.tsx')),
  administration('admin/tables/:schema/:name', () => import('./pages/entities-admin/ShowTable.tsx')),
  administration('admin/import', () => import('./pages/import/Import.tsx'), 'import.do'),
  administration('admin/items', () => import('./pages/items-admin/Items.tsx'), [PackageOpen, 'nav.archive']),
  administration('admin/items/:uuid', () => import('./pages/items-admin/ItemAdmin.tsx')),
  administration('admin/ingest', () => import('./pages/items-admin/Ingest.tsx'), 'ingest.do'),
  administration('admin/processes', () => import('./pages/processes/Processes.tsx'), [
    ListChecks,
    'nav.processes',
  ]),
  administration('admin/processes/:id', () => import('./pages/processes/Process.tsx')),
  administration('admin/audit', () => import('./pages/audit/Audit.tsx'), [ScrollText, 'nav.audit']),
  administration('admin/audit/:id', () => import('./pages/audit/Event.tsx')),
  administration('admin/system', () => import('./pages/system/Doctor.tsx'), [HeartPulse, 'nav.system']),
  administration('admin/system/figures', () => import('./pages/system/Figures.tsx'), 'figures.tab'),
  administration('admin/system/sign-on', () => import('./pages/system/SignOn.tsx'), 'sign-on.tab'),
  administration('admin/system/logins', () => import('./pages/system/Logins.tsx'), 'logins.tab'),
  administration('admin/system/backups', () => import('./pages/system/Backups.tsx'), 'backups.tab'),
  administration('admin/system/alert', () => import('./pages/system/Alert.tsx'), 'alert.tab'),
]

const missing = route('', () => import('./pages/Missing.tsx'))

/** Pages of administrators that the navigation lists. */
export const navigation = routes.flatMap(({ path: to, way }) =>
  typeof way === 'object' ? [{ path: to, icon: way[0], name: way[1] }] : [],
)

/** Further pages of administrators that can be gone to. */
export const furtherPlaces = routes.flatMap(({ path: to, way }) =>
  typeof way === 'string' ? [{ path: to, name: way }] : [],
)

function match(route: Route, parts: readonly string[]): Parameters | undefined {
  const pattern = partsOf(route.path)
  if (pattern.length !== parts.length) return undefined
  const parameters: Record<string, string> = {}
  for (const [at, name] of pattern.entries()) {
    const part = parts[at] ?? ''
    if (name.startsWith(':')) parameters[name.slice(1)] = decode(part)
    else if (name !== part) return undefined
  }
  return parameters
}

const partsOf = (path: string) => (path === '' ? [] : path.split('/'))

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
  const parts = partsOf(path.value)
  for (const one of routes) {
    const parameters = match(one, parts)
    if (parameters) return <Lazy key={path.value} load={one.load} with={{ parameters }} />
  }
  return <Lazy key="missing" load={missing.load} with={{ parameters: {} }} />
}
