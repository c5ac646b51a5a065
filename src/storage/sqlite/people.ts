import type { Group, GroupDetails } from '../../model/accounts.ts'
import { maxInclusions, type People } from '../people.ts'
import { findGroups } from './account-searches.ts'
import type { Database } from './driver.ts'
import { useOfGroup } from './group-changes.ts'
import type { Write } from './group-commit.ts'
import { above, hasAdministrator, mine, withParents } from './group-tree.ts'
import { groupWith } from './people-changes.ts'
import type { ReaderThreads } from './reader-threads.ts'
import type { SharedSnapshot } from './shared-snapshot.ts'

interface Parts {
  readonly db: Database
  readonly snapshot: SharedSnapshot
  readonly write: Write
  readonly file: string
  readonly readerThreads: ReaderThreads
}

/** How many sets of groups are kept with their parents at most. */
const maxKept = 1_000

/** People in the embedded store. */
export function sqlitePeople({ db, snapshot, write, ...searches }: Parts): People {
  /** By the uuids that were asked for. */
  const kept = new Map<string, readonly Group[]>()
  /** Of the store, when they were read. */
  let keptState = -1

  return {
    canRemoveEperson: uuid =>
      db.get('SELECT 1 FROM eperson WHERE uuid = ?', uuid) !== undefined && hasAdministrator(db, uuid),
    canRemoveGroup: uuid => {
      const group = groupWith(db, uuid)
      return group !== undefined && !useOfGroup(db, group.name) && hasAdministrator(db, uuid)
    },
    group: uuid => groupWith(db, uuid),
    groupsOf: eperson =>
      db
        .all<GroupDetails & Record<string, unknown>>(
          `${mine('?')} SELECT g.uuid, g.name, g.description FROM mine
             JOIN epersongroup g ON g.uuid = mine.id ORDER BY g.name`,
          eperson,
        )
        .map(row => ({ ...row })),
    membershipsOf: (eperson, more) => ({
      direct: db
        .all<{ id: string }>('SELECT epersongroup AS id FROM membership WHERE eperson = ?', eperson)
        .map(({ id }) => id),
      inclusions: db
        .all<{ child: string; parent: string }>(
          `${above('SELECT epersongroup FROM membership WHERE eperson = ? UNION SELECT value FROM json_each(?)')}
             SELECT child, parent FROM above JOIN subgroup ON child = id ORDER BY child, parent LIMIT ?`,
          eperson,
          JSON.stringify(more),
          maxInclusions,
        )
        .map(({ child, parent }) => ({ child, parent })),
    }),
    withParents: groups => {
      if (groups.length === 0) return groups
      const state = snapshot.enter()
      if (state !== keptState || kept.size >= maxKept) kept.clear()
      keptState = state
      const asked = groups.map(({ uuid }) => uuid).join()
      const known = kept.get(asked)
      if (known) return known
      const found = withParents(db, groups)
      kept.set(asked, found)
      return found
    },
    findGroups: (search, window, client) => findGroups(searches, search, window, client),

    createEperson: (person, event) => write('createEperson', person, event),
    changeEperson: (uuid, change, event) => write('changeEperson', uuid, change, event),
    replacePassword: (uuid, hash, event) => write('replacePassword', uuid, hash, event),
    resetAgreements: event => write('resetAgreements', event),
    removeEperson: (uuid, event) => write('removeEperson', uuid, event),
    createGroup: (group, event) => write('createGroup', group, event),
    changeGroup: (uuid, change, event) => write('changeGroup', uuid, change, event),
    removeGroup: (uuid, event) => write('removeGroup', uuid, event),
    setMember: (isMember, group, eperson, event) => write('setMember', isMember, group, eperson, event),
    addMembers: (group, epersons, event) => write('addMembers', group, epersons, event),
    addSubgroups: (parent, children, event) => write('addSubgroups', parent, children, event),
    setSubgroup: (isIncluded, parent, child, event) => write('setSubgroup', isIncluded, parent, child, event),
  }
}
