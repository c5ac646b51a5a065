import { patchRefused } from '../http/json-patch.ts'
import { Problem } from '../http/problems.ts'
import { agreementField, type Profile, profileFields } from '../model/accounts.ts'
import type { NewPerson } from '../model/people.ts'
import { type Fields, metadataOf, textUpTo } from './single-metadata.ts'

/** Epersons as DSpace's clients write them. */

const isTrueOrFalse = (text: string) =>
  text === 'true' || text === 'false' ? undefined : 'must be "true" or "false"'

/** The fields of an eperson that can be set. */
export const epersonFields: Fields = new Map([
  ['eperson.firstname', textUpTo(200)],
  ['eperson.lastname', textUpTo(200)],
  ['eperson.phone', textUpTo(100)],
  ['eperson.language', textUpTo(20)],
  [agreementField, isTrueOrFalse],
  // Settings that the interface keeps as JSON: the user's choices of cookies, and of accessibility.
  ['dspace.agreements.cookies', textUpTo(4_000)],
  ['dspace.accessibility.settings', textUpTo(4_000)],
])

/** Maximum length of an email address in characters: the most that mail takes (RFC 5321 §4.5.3.1), with some room. */
const maxEmail = 320

type DescribedPerson = Omit<NewPerson, 'passwordHash'>

/**
 * Reads the eperson in the body of a POST. Members that DSpace's clients send and that mean nothing to Carrel
 * are ignored.
 * @throws Problem 422
 */
export function newPerson(body: Readonly<Record<string, unknown>>): DescribedPerson {
  const fault = (why: string) => new Problem('change-refused', why)
  refuseCertificate(body.requireCertificate ?? false, fault)
  refuseNetId(body.netid, fault)
  const values = metadataOf(body.metadata, epersonFields)
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

type Fault = (why: string) => Problem

export function emailOf(given: unknown, fault: Fault): string {
  if (typeof given !== 'string') throw fault('email must be an email address.')
  const email = given.trim()
  if (!/^[^\s@]+@[^\s@]+$/.test(email) || textUpTo(maxEmail)(email) !== undefined)
    throw fault('email must be an email address.')
  return email
}

/** Reads a boolean, which the Python client sends as text. */
export function flag(given: unknown, fault: Fault): boolean {
  if (given === true || given === 'true') return true
  if (given === false || given === 'false') return false
  throw fault('canLogIn must be true or false.')
}

/** Ignoring the demand would leave an account open that an administrator believes to be safe. */
export function refuseCertificate(given: unknown, fault: Fault): void {
  if (given !== false && given !== 'false' && given !== null)
    throw fault('Carrel knows no certificates of epersons; requireCertificate can only be false.')
}

export function refuseNetId(given: unknown, fault: Fault): void {
  if (given !== undefined && given !== null && given !== '')
    throw fault('Carrel keeps no netid: an eperson is linked when they log in at their identity provider.')
}

/** Reads a password as bytes: a change compares them byte by byte, like a login (L7). @throws Problem 422 */
export function passwordIn(name: string, value: unknown, holder = 'The value of the operation'): Buffer {
  if (typeof value !== 'string') throw patchRefused(null, `${holder} must have ${name}, a string.`)
  // An unpaired surrogate can't be encoded in UTF-8; it would be replaced.
  if (!value.isWellFormed())
    throw patchRefused(null, `${name} has an unpaired surrogate, which is not a character.`)
  return Buffer.from(value)
}
