import type { People } from '../people.ts'
import * as epersons from './epersons.ts'
import { groupWith, useOfGroup } from './group-rows.ts'
import { groupsByUuid, hasAdministrator, withParents } from './group-tree.ts'
import * as groups from './groups.ts'
import * as members from './members.ts'
import { epersonWith } from './people-rows.ts'
import { findEpersons, findGroups } from './people-searches.ts'
import type { StatementsOf } from './statements.ts'

/** Epersons and groups: by command, where addresses and names name them, and over HTTP. */
export const people = {
  reads: {
    eperson: epersonWith,
    credentials: epersons.credentials,
    listEpersons: epersons.listEpersons,
    listGroups: groups.listGroups,
    groupMembers: groups.groupMembers,
    groupsByUuid,
    groupsByName: groups.groupsByName,
    *canRemoveEperson(uuid) {
      return (yield* epersonWith(uuid)) !== undefined && (yield* hasAdministrator(uuid))
    },
    *canRemoveGroup(uuid) {
      const group = yield* groupWith(uuid)
      return group !== undefined && !(yield* useOfGroup(group.name)) && (yield* hasAdministrator(uuid))
    },
    group: groupWith,
    withParents,
    groupsOf: groups.groupsOf,
    membershipsOf: groups.membershipsOf,
  },
  searches: { findEpersons, findGroups },
  changes: {
    ensureGroups: groups.ensureGroups,
    addEperson: epersons.addEperson,
    setEnabled: epersons.setEnabled,
    setPassword: epersons.setPassword,
    deleteEperson: epersons.deleteEperson,
    addGroup: groups.addGroup,
    deleteGroup: groups.deleteGroup,
    join: (group, email, event) => groups.joinOrLeave('join', group, email, event),
    leave: (group, email, event) => groups.joinOrLeave('leave', group, email, event),
    createEperson: epersons.createEperson,
    changeEperson: epersons.changeEperson,
    removeEperson: epersons.removeEperson,
    resetAgreements: epersons.resetAgreements,
    createGroup: groups.createGroup,
    changeGroup: groups.changeGroup,
    removeGroup: groups.removeGroup,
    setMember: members.setMember,
    setSubgroup: members.setSubgroup,
    addMembers: members.addMembers,
    addSubgroups: members.addSubgroups,
  },
} satisfies StatementsOf<People>
