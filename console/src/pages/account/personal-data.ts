import { service } from '../../api.ts'
import { pathOf } from '../../entities.ts'
import type { Eperson } from '../../session.ts'

/** Everything that the service keeps of somebody and shows them: what they could ask for piece by piece. */
export async function personalData({ uuid }: Eperson): Promise<object> {
  const client = service.value
  const all = async (path: string) => {
    const list: unknown[] = []
    for await (const one of client.list(path)) list.push(one)
    return list
  }
  const condition = JSON.stringify(uuid)
  const [profile, groups, sessions, tokens, events] = await Promise.all([
    client.get(`/api/eperson/epersons/${uuid}`),
    all(`/api/eperson/epersons/${uuid}/groups`),
    all('/api/authn/sessions').catch(() => []),
    all('/api/authn/tokens').catch(() => []),
    client.get(pathOf(), {
      query: { query: `audit_events { eperson = ${condition} or actor = ${condition} order by id desc }` },
    }),
  ])
  return { made: new Date().toISOString(), profile, groups, sessions, tokens, events }
}
