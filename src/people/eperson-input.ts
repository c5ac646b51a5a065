import { type Operation, patchRefused } from '../http/json-patch.ts'
import { Problem } from '../http/problems.ts'
import { agreementField, type Profile, profileFields } from '../model/accounts.ts'
import type { EpersonChange, NewPerson } from '../storage/people.ts'
import { type Fields, metadataChange, metadataOf, textUpTo, type Values } from './single-metadata.ts'

/** Epersons as DSpace's clients write them. */

const isTrueOrFalse = (text: string) =>
  text === 'true' || text === 'false' ? undefined : 'must be "true" or "false"'

const fields: Fields = new Map([
  ['eperson.firstname', textUpTo(200)],
  ['eperson.lastname', textUpTo(200)],
  ['eperson.phone', textUpTo(100)],
  ['eperson.language', textUpTo(20)],
  [agreementField, isTrueOrFalse],
  // Settings that the interface keeps as JSON: the user's choices of cookies, and of accessibility.
  ['dspace.agreements.cookies', textUpTo(4_000)],
  ['dspace.accessibility.settings', textUpTo(4_000)],
])

/**
 * Maximum length of an email address in characters: the most that mail takes (RFC 5321 §4.5.3.1), with some
 * room.
 */
const maxEmail = 320

export type DescribedPerson = Omit<NewPerson, 'passwordHash'>

/**
 * Reads the eperson in the body of a POST. Members that DSpace's clients send and that mean nothing to Carrel
 * are ignored.
 * @throws Problem 422
 */
export function newPerson(body: Readonly<Record<string, unknown>>): DescribedPerson {
  const fault = (why: string) => new Problem('change-refused', why)
  refuseCertificate(body.requireCertificate ?? false, fault)
  refuseNetId(body.netid, fault)
  if (body.password !== undefined && body.password !== null)
    throw fault('The body can’t have a password; set it afterwards, by PATCH.')
  const values = metadataOf(body.metadata, fields)
  return {
    email: emailOf(body.email, fault),
    enabled: body.canLogIn === undefined || body.canLogIn === null ? true : flag(body.canLogIn, fault),
    firstName: values['eperson.firstname'] ?? null,
    lastName: values['eperson.lastname'] ?? null,
    profile: Object.fromEntries(
      profileFields.flatMap(field => (values[field] ? [[field, values[field]]] : [])),
    ) as Profile,
  }
}

/**
 * Reads the changes that a JSON Patch makes to an eperson.
 * @param mayAll true for an administrator; otherwise only parts that epersons may change of themselves are
 * accepted
 * @throws Problem 403 or 422
 */
export function epersonChange(operations: readonly Operation[], mayAll: boolean): EpersonChange {
  if (operations.length === 0) throw patchRefused(null, 'The patch has no operations.')
  return operations.map(operation => changeOf(operation, mayAll)).reduce(merge)
}

const merge = (one: EpersonChange, next: EpersonChange): EpersonChange => ({
  ...one,
  ...next,
  ...(one.profile || next.profile ? { profile: { ...one.profile, ...next.profile } } : {}),
})

function changeOf(operation: Operation, mayAll: boolean): EpersonChange {
  const { index, op, path, value } = operation
  const fault = (why: string) => patchRefused(index, why)
  if (path[0] === 'metadata') return changeOfValues(metadataChange(operation, fields))
  const name = path.length === 1 ? path[0] : undefined
  if (name === undefined || !['email', 'canLogIn', 'certificate', 'netid'].includes(name))
    throw fault('an eperson has /email, /canLogIn, /certificate, /netid, /password and /metadata/….')
  if (!mayAll) throw new Problem('access-denied', `Only administrators may change the ${name} of an eperson.`)
  if (op !== 'replace' && op !== 'add') throw fault(`/${name} takes replace, with a value.`)
  if (name === 'email') return { email: emailOf(value, fault) }
  if (name === 'canLogIn') return { enabled: flag(value, fault) }
  if (name === 'certificate') refuseCertificate(value, fault)
  else refuseNetId(value, fault)
  return {}
}

type Fault = (why: string) => Problem

function changeOfValues(values: Values): EpersonChange {
  const profile = Object.fromEntries(Object.entries(values).filter(([field]) => isProfile(field)))
  return { ...names(values), ...(Object.keys(profile).length === 0 ? {} : { profile }) }
}

const names = (values: Values): Pick<EpersonChange, 'firstName' | 'lastName'> => ({
  ...('eperson.firstname' in values ? { firstName: values['eperson.firstname'] ?? null } : {}),
  ...('eperson.lastname' in values ? { lastName: values['eperson.lastname'] ?? null } : {}),
})

const isProfile = (field: string) => profileFields.some(one => one === field)

function emailOf(given: unknown, fault: Fault): string {
  if (typeof given !== 'string') throw fault('email must be an email address.')
  const email = given.trim()
  if (!/^[^\s@]+@[^\s@]+$/.test(email) || textUpTo(maxEmail)(email) !== undefined)
    throw fault('email must be an email address.')
  return email
}

/** Reads a boolean, which the Python client sends as text. */
function flag(given: unknown, fault: Fault): boolean {
  if (given === true || given === 'true') return true
  if (given === false || given === 'false') return false
  throw fault('canLogIn must be true or false.')
}

/** Ignoring the demand would leave an account open that an administrator believes to be safe. */
function refuseCertificate(given: unknown, fault: Fault): void {
  if (given !== false && given !== 'false' && given !== null)
    throw fault('Carrel knows no certificates of epersons; requireCertificate can only be false.')
}

function refuseNetId(given: unknown, fault: Fault): void {
  if (given !== undefined && given !== null && given !== '')
    throw fault('Carrel keeps no netid: an eperson is linked when they log in at their identity provider.')
}
