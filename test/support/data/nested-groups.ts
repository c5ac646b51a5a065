import { commandEvent } from '../../../src/cli/store.ts'
import type { Storage } from '../../../src/storage/storage.ts'

/** A described group in the group `Readers`, and an eperson with a profile: what only a newer store has. */
export async function addNestedGroup({ accounts, people }: Storage): Promise<void> {
  const [outer, inner] = await accounts.ensureGroups(['Readers', 'Inner'])
  const described = { description: 'ä\t"' }
  await people.changeGroup(inner?.uuid ?? '', described, commandEvent('group.change'))
  await people.setSubgroup(true, outer?.uuid ?? '', inner?.uuid ?? '', commandEvent('group.include'))
  const person = { email: 'phone@example.org', firstName: null, lastName: null, enabled: true }
  await people.createEperson(
    { ...person, profile: { 'eperson.phone': '\\1 2' } },
    commandEvent('eperson.add'),
  )
}
