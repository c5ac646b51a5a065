import type { Access } from '../src/http/access.ts'
import type { OpenApi } from '../src/openapi/document.ts'

/**
 * Generates the table of `docs/reference/access.md` from what the routes state, which is in the OpenAPI document.
 * Routes that state the same share a row.
 */
export function accessTable(document: string): string {
  const { paths } = JSON.parse(document) as OpenApi
  const stated = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      // An entity's own operations state nothing: they are those of `{entity}`.
      .filter(([, operation]) => 'x-access' in operation)
      .map(([method, { 'x-access': access }]) => ({
        route: `\`${method.toUpperCase()} ${path}\``,
        who: whoOf(access),
        row: cells(access).join(' | '),
      })),
  )
  const ofWho = [...Map.groupBy(stated, ({ who }) => who).values()]
  const rows = ofWho
    .flatMap(routes => [...Map.groupBy(routes, ({ row }) => row)])
    .map(([row, routes]) => `| ${row} | ${routes.map(({ route }) => route).join(', ')} |`)
  return `| Who | Access token | Short-lived token | On behalf | CSRF pair | Body | Routes |
|---|---|---|---|---|---|---|
${rows.join('\n')}
`
}

const cells = (access: Access): readonly string[] => [
  whoOf(access),
  ...(access.tokens === 'ignored'
    ? ['not read', 'not read']
    : [access.tokens.access, access.tokens.shortLived ? 'yes' : 'no']),
  access.onBehalf,
  access.does === 'read' ? '' : access.csrf === 'required' ? 'required' : `no: ${access.csrf.not}`,
  access.does === 'read' ? '' : bodyOf(access.body),
]

const whoOf = ({ who }: Access): string => {
  if (typeof who === 'string') return who
  return `${who.login ? 'eperson' : 'anybody'} with the right to ${who.handlerDecides}`
}

function bodyOf(body: Extract<Access, { body: unknown }>['body']): string {
  if (typeof body === 'string') return body
  const { types, limit, optional } = body
  const most = typeof limit === 'number' ? `${limit / 1024} KiB` : `\`${limit}\``
  return `${types.map(type => `\`${type}\``).join(', ')}; at most ${most}${optional ? '; may be missing' : ''}`
}
