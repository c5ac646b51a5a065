import type { Contracts } from '../../http/contract.ts'
import type { ProblemCode } from '../../http/problems.ts'
import { Eperson, Group } from '../../http/resources/schemas.ts'
import {
  always,
  answer,
  closed,
  Embedded,
  json,
  links,
  listOf,
  named,
  nothing,
  oneOf,
  orNull,
  pageOf,
  parameter,
  patch,
  Type,
  text,
  uri,
  uuid,
} from '../../http/schema.ts'

export const tag = 'Authorizations'
const day = orNull(Type.String({ format: 'date' }))
const Policy = named('ResourcePolicy', {
  id: text,
  name: orNull(text),
  description: orNull(text),
  policyType: orNull(text),
  action: oneOf('READ', 'WRITE'),
  startDate: day,
  endDate: day,
  type: always('resourcepolicy'),
  _links: links('eperson', 'group', 'resource', 'self'),
  _embedded: closed({
    group: orNull(Group),
    eperson: orNull(Eperson),
    resource: Type.Optional(Embedded),
  }),
})
const PolicyPage = pageOf('resourcepolicies', Policy, 'ResourcePolicyPage')
const WantedPolicy = Type.Object(
  {
    name: Type.Optional(orNull(text)),
    description: Type.Optional(orNull(text)),
    policyType: Type.Optional(orNull(text)),
    action: Type.Optional(orNull(oneOf('READ', 'WRITE'))),
    startDate: Type.Optional(orNull(text)),
    endDate: Type.Optional(orNull(text)),
  },
  { $id: 'WantedPolicy' },
)
const id = parameter(uuid, undefined, { required: true })

const refused = [
  'bad-parameter',
  'not-found',
  'change-refused',
  'precondition-failed',
] as const satisfies readonly ProblemCode[]

export const contracts = {
  listPoliciesOfObject: {
    summary: 'The policies of an item or a file',
    ...listOf(PolicyPage, { uuid: id, action: parameter(oneOf('READ', 'WRITE')) }),
    problems: ['not-found'],
  },
  listPoliciesOfGroup: {
    summary: 'The policies that are for a group: of one object, or of all',
    ...listOf(PolicyPage, { uuid: id, resource: parameter(uuid, 'All, if it is left out.') }),
    problems: ['not-found', 'change-refused'],
  },
  listPoliciesOfEperson: {
    summary: 'The policies that are for an eperson: of one object, or of all',
    ...listOf(PolicyPage, { uuid: id, resource: parameter(uuid, 'All, if it is left out.') }),
    problems: ['not-found', 'change-refused'],
  },
  addPolicy: {
    summary: 'Add a policy',
    query: {
      resource: id,
      group: parameter(uuid, 'The group that it is for.'),
      eperson: parameter(uuid, 'The eperson that it is for, in place of a group.'),
    },
    body: json(WantedPolicy),
    answers: { 201: answer('The policy.', json(Policy), { Location: uri }) },
    problems: refused,
  },
  showPolicy: {
    summary: 'A policy',
    answers: { 200: answer('The policy.', json(Policy)) },
    problems: ['not-found'],
  },
  changePolicy: {
    summary: 'Change a policy',
    body: patch,
    answers: { 200: answer('The policy.', json(Policy)) },
    problems: [...refused, 'patch-refused'],
  },
  deletePolicy: {
    summary: 'Delete a policy',
    answers: { 204: nothing('It is deleted.') },
    problems: refused,
  },
  showGroupOfPolicy: {
    summary: 'The group that a policy is for',
    answers: { 200: answer('The group.', json(Group)), 204: nothing('It is for an eperson.') },
    problems: ['not-found'],
  },
  setGroupOfPolicy: {
    summary: 'Change which group a policy is for',
    body: { 'text/uri-list': uri },
    answers: { 204: nothing('It is for that group.') },
    problems: refused,
  },
  showEpersonOfPolicy: {
    summary: 'The eperson that a policy is for',
    answers: { 200: answer('The eperson.', json(Eperson)), 204: nothing('It is for a group.') },
    problems: ['not-found'],
  },
  setEpersonOfPolicy: {
    summary: 'Change which eperson a policy is for',
    body: { 'text/uri-list': uri },
    answers: { 204: nothing('It is for that eperson.') },
    problems: refused,
  },
  showObjectOfPolicy: {
    summary: 'The item or the file that a policy is of',
    answers: { 302: nothing('Its address.', { Location: uri }) },
    problems: ['not-found'],
  },
} as const satisfies Contracts
