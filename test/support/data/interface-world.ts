import { commandEvent } from '../../../src/cli/store.ts'
import type { Service } from '../service/service.ts'
import { addItem, everybody, membersOf, titled } from './repository.ts'

/**
 * The world of DSpace's user interface, for the walk through it and for the replay of its requests: an item
 * with an open, a restricted and an embargoed file, a reader, a curator who may change the item, and an
 * administrator.
 */
export const administrator = 'admin@example.org'
export const reader = 'reader@example.org'
export const curator = 'curator@example.org'

export const worldSettings = { CARREL_LOGIN_ON_BEHALF_OF: 'true' } as const

/** @returns the UUIDs of the objects, by their names in recordings */
export async function addInterfaceWorld(service: Service): Promise<ReadonlyMap<string, string>> {
  const uuids = new Map<string, string>()
  const people = [
    [administrator, { admin: true }],
    [reader, { groups: ['Readers'] }],
    [curator, { groups: ['Curators'] }],
  ] as const
  for (const [email, options] of people) uuids.set(email, (await service.addEperson(email, options)).uuid)
  const item = await addItem(service, {
    // A handle, because the interface has a page for handles.
    identifier: '123456789/7',
    metadata: titled('Letters from the coast'),
    readers: everybody,
    files: [
      { name: 'open.txt', content: 'open to all' },
      { name: 'restricted.txt', content: 'for readers', readers: membersOf('Readers') },
      {
        name: 'embargoed.txt',
        content: 'not yet',
        readers: [{ reader: 'anonymous', from: '2999-01-01' }],
      },
    ],
  })
  await service.storage.repository.change(
    {
      kind: 'set-policies',
      object: item.uuid,
      seen: item.readers,
      rules: [...everybody, { reader: 'group:Curators', right: 'write' }],
      notes: [],
    },
    commandEvent('item.access'),
  )
  uuids.set('item', item.uuid)
  for (const [name, { uuid }] of item.files) uuids.set(name, uuid)
  const bundles = await service.storage.repository.bundles(item.uuid, { offset: 0, limit: 10 })
  for (const { name, uuid } of bundles.rows) uuids.set(name, uuid)
  for (const { name, uuid } of await service.storage.people.listGroups()) uuids.set(name, uuid)
  return uuids
}
