import { AccessTokenPage, pair } from '../authn/schemas.ts'
import type { Contracts } from '../http/contract.ts'
import { Eperson, EpersonPage, Group, GroupPage } from '../http/resources/schemas.ts'
import {
  always,
  answer,
  closed,
  json,
  links,
  listOf,
  named,
  nothing,
  oneOf,
  orNull,
  parameter,
  patch,
  Type,
  text,
  uri,
  uuid,
} from '../http/schema.ts'

const ended = (what: string) => ({ 204: nothing(what) })
const maybe = Type.Optional(text)
const token = parameter(text, 'The token of a mail.')
export const tag = 'Epersons and groups'
const mail = 'mail (CARREL_SMTP_URL)'
const query = parameter(text, 'A part of a name or an email address, or a UUID.')
const group = parameter(uuid, undefined, { required: true })
const addresses = {
  'text/uri-list': Type.String({ description: 'At most 100 addresses, one on each line.' }),
}

/** Values of metadata as clients send them: a list of one, or the value by itself. */
const Values = Type.Record(Type.String(), Type.Unknown())
const NewEperson = Type.Object(
  {
    email: Type.String({ maxLength: 320 }),
    canLogIn: Type.Optional(orNull(Type.Boolean())),
    requireCertificate: Type.Optional(orNull(Type.Boolean({ const: false }))),
    netid: Type.Optional(Type.Null()),
    metadata: Type.Optional(orNull(Values)),
    password: Type.Optional(orNull(Type.String({ description: 'Required with the token of a mail.' }))),
  },
  { $id: 'NewEperson' },
)
const NewGroup = Type.Object(
  { name: Type.String({ minLength: 1, maxLength: 250 }), metadata: Type.Optional(orNull(Values)) },
  { $id: 'NewGroup' },
)

const Registration = named('Registration', {
  email: text,
  user: orNull(text),
  registrationType: oneOf('register', 'forgot'),
  type: always('registration'),
  _links: links('self'),
})

export const contracts = {
  listEpersons: {
    summary: 'All epersons',
    ...listOf(EpersonPage),
  },
  searchEpersons: {
    summary: 'Epersons by name, email address or UUID',
    ...listOf(EpersonPage, { query }),
  },
  findEpersonByEmail: {
    summary: 'The eperson with an email address',
    query: { email: parameter(text) },
    answers: { 200: answer('The eperson.', json(Eperson)), 204: nothing('There is none.') },
    problems: ['bad-parameter'],
  },
  searchMembers: {
    summary: 'Epersons that are directly in a group',
    ...listOf(EpersonPage, { group, query }),
  },
  searchOthers: {
    summary: 'Epersons that are not directly in a group',
    ...listOf(EpersonPage, { group, query }),
  },
  showEperson: {
    summary: 'An eperson',
    description: 'The caller, or anyone for an administrator.',
    answers: { 200: answer('The eperson.', json(Eperson)) },
    problems: ['access-denied', 'not-found'],
  },
  listGroupsOfEperson: {
    summary: 'The groups of an eperson',
    description: 'Of the caller, or of anyone for an administrator.',
    ...listOf(GroupPage),
    problems: ['access-denied', 'not-found'],
  },
  addEperson: {
    summary: 'Add an eperson',
    description: 'For administrators, or with the token of a mail for its owner, who gives a password.',
    query: { token: parameter(text, 'The token of a mail.') },
    body: json(NewEperson),
    answers: { 201: answer('The eperson.', json(Eperson), { Location: uri }) },
    problems: [
      'bad-parameter',
      'authentication-required',
      'access-denied',
      'change-refused',
      'short-lived-token-refused',
      'mail-token-refused',
      'registration-refused',
      'patch-refused',
      'password-refused',
    ],
  },
  deleteEperson: {
    summary: 'Delete an eperson',
    answers: { 204: nothing('They are deleted.') },
    problems: ['not-found', 'change-refused'],
  },
  listGroups: {
    summary: 'All groups',
    ...listOf(GroupPage),
  },
  searchGroups: {
    summary: 'Groups by name or UUID',
    ...listOf(GroupPage, { query }),
  },
  searchOtherGroups: {
    summary: 'Groups that could be put into a group',
    ...listOf(GroupPage, { group, query }),
  },
  showGroup: {
    summary: 'A group that the caller is in, or any for an administrator',
    answers: { 200: answer('The group.', json(Group)) },
    problems: ['access-denied', 'not-found'],
  },
  listMembers: {
    summary: 'The epersons directly in a group',
    ...listOf(EpersonPage),
    problems: ['not-found'],
  },
  listSubgroups: {
    summary: 'The groups directly in a group',
    ...listOf(GroupPage),
    problems: ['access-denied', 'not-found'],
  },
  showObjectOfGroup: {
    summary: 'The collection that a group belongs to: none',
    answers: { 204: nothing('Always.') },
    problems: ['access-denied', 'not-found'],
  },
  addGroup: {
    summary: 'Add a group',
    body: json(NewGroup),
    answers: { 201: answer('The group.', json(Group), { Location: uri }) },
    problems: ['change-refused'],
  },
  changeGroup: {
    summary: 'Rename or describe a group',
    body: patch,
    answers: { 200: answer('The group.', json(Group)) },
    problems: ['not-found', 'change-refused', 'patch-refused'],
  },
  deleteGroup: {
    summary: 'Delete a group',
    answers: { 204: nothing('It is deleted.') },
    problems: ['not-found', 'change-refused'],
  },
  addMembers: {
    summary: 'Add epersons to a group',
    body: addresses,
    answers: { 204: nothing('They are members.') },
    problems: ['not-found', 'change-refused'],
  },
  removeMember: {
    summary: 'Remove an eperson from a group',
    path: { member: uuid },
    answers: { 204: nothing('They are no member.') },
    problems: ['not-found', 'change-refused'],
  },
  addSubgroups: {
    summary: 'Add groups to a group',
    body: addresses,
    answers: { 204: nothing('They are in it.') },
    problems: ['not-found', 'change-refused'],
  },
  removeSubgroup: {
    summary: 'Remove a group from a group',
    path: { member: uuid },
    answers: { 204: nothing('It is not in it.') },
    problems: ['not-found', 'change-refused'],
  },
  showRegistrations: {
    summary: 'Links of registration',
    needs: mail,
    answers: {
      200: answer(
        'The links.',
        json(closed({ type: always('registrations'), _links: links('self', 'findByToken') })),
      ),
    },
  },
  requestRegistration: {
    summary: 'Ask for a mail with a link',
    description: 'The answer is the same for every address.',
    needs: mail,
    query: {
      accountRequestType: parameter(oneOf('register', 'forgot'), 'A new account, or a new password.'),
    },
    body: json(Type.Object({ email: Type.String({ format: 'email', maxLength: 254 }) })),
    answers: { 201: nothing('A mail is sent, if there is anything to send.', pair) },
    problems: ['bad-parameter', 'registration-refused', 'too-many-attempts'],
  },
  findRegistration: {
    summary: 'Purpose of the token of a mail',
    needs: mail,
    query: { token: { ...token, required: true } },
    answers: { 200: answer('Whose it is.', json(Registration)) },
    problems: ['bad-parameter', 'not-found'],
  },
  changeEperson: {
    summary: 'Change a password, or an eperson',
    description:
      'Epersons change their own password and profile, administrators everything of everybody. With the token of a mail, a forgotten password is set.',
    query: { token },
    body: patch,
    answers: {
      200: answer('The eperson. After a change of password, with a new CSRF pair.', json(Eperson), {
        'DSPACE-XSRF-TOKEN': maybe,
        'Set-Cookie': maybe,
      }),
    },
    problems: [
      'bad-parameter',
      'authentication-required',
      'access-denied',
      'wrong-password',
      'not-found',
      'patch-refused',
      'change-refused',
      'password-refused',
      'mail-token-refused',
      'too-many-attempts',
      'busy',
    ],
  },
  endSessionsOf: {
    summary: 'End all sessions of an eperson',
    answers: ended('They have ended.'),
    problems: ['not-found'],
  },
  listAccessTokensOf: {
    summary: 'An eperson’s access tokens',
    ...listOf(AccessTokenPage),
    problems: ['not-found'],
  },
  revokeAccessTokensOf: {
    summary: 'Revoke all access tokens of an eperson',
    answers: ended('They open nothing any more.'),
    problems: ['not-found'],
  },
  revokeAccessTokenOf: {
    summary: 'Revoke an access token of an eperson',
    answers: ended('It opens nothing any more.'),
    problems: ['not-found'],
  },
} as const satisfies Contracts
