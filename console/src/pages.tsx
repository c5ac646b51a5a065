import type { IconNode } from 'lucide'
import type { ComponentType, JSX } from 'preact'
import type { Key } from './i18n/i18n.ts'
import { Lazy, type Load } from './parts/Lazy.tsx'
import { path } from './router.ts'

/** Parts of the address that the page is about. */
export type Parameters = Readonly<Record<string, string>>

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

/** Every page by its path: `:name` is any one part. Each is a file of its own, loaded when it is opened. */
const routes: readonly Route[] = [
  route('', () => import('./pages/home/Home.tsx')),
  route('login', () => import('./pages/login/Login.tsx')),
  route('entities/:entity', () => import('./pages/entity/EntityPage.tsx')),
  route('entities/:entity/draw', () => import('./pages/draw/DrawPage.tsx')),
  route('entities/:entity/records/:key', () => import('./pages/record/RecordPage.tsx')),
  route('items', () => import('./pages/items/Items.tsx')),
  route('items/:uuid', () => import('./pages/items/ItemPage.tsx')),
  route('account', () => import('./pages/account/Account.tsx')),
  route('sessions', () => import('./pages/account/Sessions.tsx')),
  route('tokens', () => import('./pages/account/Tokens.tsx')),
]

const missing = route('', () => import('./pages/Missing.tsx'))

/** Pages of administrators that the navigation lists. */
export const navigation: readonly {
  readonly path: string
  readonly icon: IconNode
  readonly name: Key
}[] = []

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

/** The page that the address is for. A page that is about something else is a new one: it begins from nothing. */
export function OpenPage(): JSX.Element {
  const parts = path.value === '' ? [] : path.value.split('/')
  for (const one of routes) {
    const parameters = match(one, parts)
    if (parameters) return <Lazy key={path.value} load={one.load} with={{ parameters }} />
  }
  return <Lazy key="missing" load={missing.load} with={{ parameters: {} }} />
}
