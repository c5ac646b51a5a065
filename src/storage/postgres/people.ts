import type { Group, GroupDetails } from '../../model/accounts.ts'
import { maxInclusions, type People } from '../people.ts'
import { findGroups } from './account-searches.ts'
import type { Pool } from './driver.ts'
import { useOfGroup } from './group-changes.ts'
import { above, hasAdministrator, mine, withParents } from './group-tree.ts'
import { addMembers, addSubgroups, setMember, setSubgroup } from './member-changes.ts'
import {
  changeEperson,
  changeGroup,
  createEperson,
  createGroup,
  groupWith,
  removeEperson,
  removeGroup,
  replacePassword,
  resetAgreements,
} from './people-changes.ts'
import { isStorable } from './rows.ts'
import type { SessionLookup } from './session-lookup.ts'

/** How many sets of groups are kept with their parents at most. */
const maxKept = 1_000

/** People in PostgreSQL. */
export function postgresPeople(pool: Pool, lookup: SessionLookup): People {
  /** By the uuids that were asked for. */
  const kept = new Map<string, readonly Group[]>()
  /** Of the groups in groups, before they were read. */
  let keptState = -1

  return {
    canRemoveEperson: async uuid =>
      isStorable(uuid) &&
      (await pool.rows('SELECT 1 AS one FROM eperson WHERE uuid = $1', uuid)).length > 0 &&
      hasAdministrator(pool, uuid),
    canRemoveGroup: async uuid => {
      const group = isStorable(uuid) ? await groupWith(pool, uuid) : undefined
      return group !== undefined && !(await useOfGroup(pool, group.name)) && hasAdministrator(pool, uuid)
    },
    group: async uuid => (isStorable(uuid) ? groupWith(pool, uuid) : undefined),
    groupsOf: async eperson =>
      isStorable(eperson)
        ? pool.rows<GroupDetails & Record<string, unknown>>(
            `${mine('$1')} SELECT g.uuid, g.name, g.description FROM mine
               JOIN epersongroup g ON g.uuid = mine.id ORDER BY g.name`,
            eperson,
          )
        : [],
    membershipsOf: async (eperson, more) => {
      const direct = await pool.rows<{ id: string }>(
        'SELECT epersongroup AS id FROM membership WHERE eperson = $1',
        eperson,
      )
      const inclusions = await pool.rows<{ child: string; parent: string }>(
        `${above('SELECT epersongroup FROM membership WHERE eperson = $1 UNION SELECT unnest(CAST($2 AS text[])) COLLATE "C"')}
           SELECT s.child, s.parent FROM above JOIN subgroup s ON s.child = above.id
           ORDER BY s.child, s.parent LIMIT $3`,
        eperson,
        more,
        maxInclusions,
      )
      return { direct: direct.map(({ id }) => id), inclusions }
    },
    withParents: async groups => {
      if (groups.length === 0) return groups
      const { groups: state } = await lookup.ask()
      if (state !== keptState || kept.size >= maxKept) kept.clear()
      keptState = state
      const asked = groups.map(({ uuid }) => uuid).join()
      const known = kept.get(asked)
      if (known) return known
      const found = await withParents(pool, groups)
      // What was read is at least as new as the state that was asked for before.
      if (keptState === state) kept.set(asked, found)
      return found
    },
    findGroups: (search, window) => findGroups(pool, search, window),

    createEperson: (person, event) => createEperson(pool, person, event),
    changeEperson: (uuid, change, event) => changeEperson(pool, uuid, change, event),
    replacePassword: (uuid, hash, event) => replacePassword(pool, uuid, hash, event),
    resetAgreements: event => resetAgreements(pool, event),
    removeEperson: (uuid, event) => removeEperson(pool, uuid, event),
    createGroup: (group, event) => createGroup(pool, group, event),
    changeGroup: (uuid, change, event) => changeGroup(pool, uuid, change, event),
    removeGroup: (uuid, event) => removeGroup(pool, uuid, event),
    setMember: (isMember, group, eperson, event) => setMember(pool, isMember, group, eperson, event),
    addMembers: (group, epersons, event) => addMembers(pool, group, epersons, event),
    addSubgroups: (parent, children, event) => addSubgroups(pool, parent, children, event),
    setSubgroup: (isIncluded, parent, child, event) => setSubgroup(pool, isIncluded, parent, child, event),
  }
}
