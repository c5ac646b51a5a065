import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Service, temporaryFolder } from '../service/service.ts'
import type { Someone, Uuids } from './policies.ts'

/** A caller whose rights to read are tested. */
export interface Viewer {
  readonly name: string
  readonly who: Someone
  /** The UUID of a person whom rules may name. */
  readonly uuid?: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Returns settings with special groups by network and by login method, and with acting on behalf of epersons.
 */
export function viewerSettings(t: TestContext): Readonly<Record<string, string>> {
  const configuration = join(temporaryFolder(t, 'sqlite'), 'carrel.json')
  const campus = { group: 'Campus', ranges: ['10.0.0.0/8'] }
  writeFileSync(
    configuration,
    JSON.stringify({
      specialGroups: { ip: [campus], method: [{ group: 'Local', method: 'password' }] },
    }),
  )
  return {
    CARREL_CONFIG: configuration,
    CARREL_TRUSTED_PROXIES: '127.0.0.1',
    CARREL_LOGIN_ON_BEHALF_OF: 'true',
  }
}

/** Returns viewers for a service with the settings above. */
export async function someViewers(service: Service): Promise<readonly Viewer[]> {
  await service.storage.people.ensureGroups(['A', 'B', 'C'])
  const bearer = async (email: string) => {
    const client = service.client()
    await client.login(email)
    return { authorization: `Bearer ${client.token}` }
  }
  const a = await service.addEperson('a@example.org', { groups: ['A'] })
  await service.addEperson('ab@example.org', { groups: ['A', 'B'] })
  const none = await service.addEperson('none@example.org')
  await service.addEperson('root@example.org', { admin: true, groups: ['C'] })
  const b = await service.addEperson('b@example.org', { groups: ['B'] })
  const elsewhere = { 'x-forwarded-for': '192.0.2.7' }
  const onCampus = { 'x-forwarded-for': '10.1.2.3' }
  const reader = (...groups: string[]): Someone => ({
    administrator: false,
    loggedIn: true,
    groups: ['Local', ...groups],
  })
  const nobody: Someone = { administrator: false, loggedIn: false, groups: [] }
  const root = await bearer('root@example.org')
  return [
    { name: 'anonymous', who: nobody, headers: elsewhere },
    { name: 'anonymous on campus', who: { ...nobody, groups: ['Campus'] }, headers: onCampus },
    {
      name: 'in A',
      who: { ...reader('A'), name: 'a' },
      uuid: a.uuid,
      headers: { ...elsewhere, ...(await bearer('a@example.org')) },
    },
    {
      name: 'in A and B, on campus',
      who: reader('A', 'B', 'Campus'),
      headers: { ...onCampus, ...(await bearer('ab@example.org')) },
    },
    {
      name: 'in no group',
      who: { ...reader(), name: 'none' },
      uuid: none.uuid,
      headers: { ...elsewhere, ...(await bearer('none@example.org')) },
    },
    {
      name: 'administrator',
      who: { administrator: true, loggedIn: true, groups: [] },
      headers: { ...elsewhere, ...root },
    },
    {
      // The administrator's rights and special groups don't apply; the address is that of the request (B3).
      name: 'administrator acting as someone in B, on campus',
      who: { administrator: false, loggedIn: true, groups: ['B', 'Campus'], name: 'b' },
      uuid: b.uuid,
      headers: { ...onCampus, ...root, 'x-on-behalf-of': b.uuid },
    },
  ]
}

/** Returns the UUIDs of the viewers whom rules may name, by their names in plans. */
export const uuidsOf = (viewers: readonly Viewer[]): Uuids =>
  new Map(viewers.flatMap(({ who, uuid }) => (who.name && uuid ? [[who.name, uuid]] : [])))
