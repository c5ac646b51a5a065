import { commandEvent } from '../../../src/cli/store.ts'
import type { Store } from '../../../src/features.ts'

/**
 * Adds a group with a description to the group `Readers`, and an eperson with a profile: data that only a
 * newer store has.
 */
export async function addNestedGroup({ people }: Store): Promise<void> {
  const [outer, inner] = await people.ensureGroups(['Readers', 'Inner'])
  const described = { description: 'ä\t"' }
  await people.changeGroup(inner?.uuid ?? '', described, commandEvent('group.change'))
  await people.setSubgroup(true, outer?.uuid ?? '', inner?.uuid ?? '', commandEvent('group.include'))
  const names = { firstName: null, lastName: null }
  await people.createEperson(
    {
      email: 'phone@example.org',
      passwordHash: null,
      ...names,
      enabled: true,
      profile: { 'eperson.phone': '\\1 2' },
    },
    commandEvent('eperson.add'),
  )
}
