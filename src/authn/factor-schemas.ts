import {
  always,
  closed,
  flag,
  Link,
  links,
  named,
  oneOf,
  orNull,
  PageFacts,
  Type,
  text,
  time,
} from '../http/schema.ts'
import { factorKinds, maxFactorName } from '../model/factors.ts'

/** Schemas of second factors. */

const name = Type.String({ minLength: 1, maxLength: maxFactorName, format: 'line' })
/** JSON that a browser makes or takes (WebAuthn Level 3, §5.1). */
const browserJson = Type.Unsafe<Readonly<Record<string, unknown>>>({
  type: 'object',
  additionalProperties: {},
})

const Proof = named(
  'FactorProof',
  {
    totp: Type.Optional(text),
    recovery: Type.Optional(text),
    webauthn: Type.Optional(browserJson),
    password: Type.Optional(Type.String({ description: 'While the caller has no factor.' })),
  },
  'One of these.',
)

const factor = {
  id: text,
  kind: oneOf(...factorKinds),
  name: text,
  alone: Type.Boolean({ description: 'True for a passkey that logs in without a password.' }),
  created: time,
  lastUsed: orNull(time),
  type: always('factor'),
  _links: links('self'),
}
export const Factor = named('Factor', factor)
const codes = Type.Array(text, { description: 'Shown only now.' })
export const NewFactor = named('NewFactor', {
  ...factor,
  recoveryCodes: Type.Optional(codes),
  ticket: Type.Optional(Type.String({ description: 'Logs in, if the enrolment was begun by a ticket.' })),
})
export const RecoveryCodes = named('RecoveryCodes', { recoveryCodes: codes })

export const FactorPage = named('FactorPage', {
  _embedded: closed({ factors: Type.Array(Factor) }),
  page: PageFacts,
  setting: oneOf('off', 'optional', 'administrators', 'everybody'),
  required: flag,
  recoveryCodes: Type.Integer({ minimum: 0, description: 'The number that are left.' }),
  hasPassword: flag,
  passkeys: Type.Boolean({ description: 'True if the address of the service can have passkeys.' }),
  _links: closed({
    first: Type.Optional(Link),
    prev: Type.Optional(Link),
    next: Type.Optional(Link),
    last: Type.Optional(Link),
    self: Link,
  }),
})

export const WantedFactor = named('WantedFactor', {
  kind: oneOf(...factorKinds),
  name,
  alone: Type.Optional(flag),
  proof: Type.Optional(Proof),
  ticket: Type.Optional(text),
})
export const Enrolment = named('FactorEnrolment', {
  enrolment: text,
  kind: oneOf(...factorKinds),
  type: always('enrolment'),
  secret: Type.Optional(Type.String({ description: 'In base 32.' })),
  uri: Type.Optional(Type.String({ description: 'The `otpauth://` address that a QR code holds.' })),
  publicKey: Type.Optional(browserJson),
})
export const EnrolledFactor = named('EnrolledFactor', {
  enrolment: text,
  totp: Type.Optional(text),
  webauthn: Type.Optional(browserJson),
  endOtherSessions: Type.Optional(
    Type.Boolean({ description: 'True to end all sessions but the one that asks. Not with a ticket.' }),
  ),
})
export const RenamedFactor = named('RenamedFactor', { name, proof: Proof })
export const Proved = named('Proved', { proof: Proof })
export const WantedChallenge = named('WantedChallenge', {
  ticket: Type.Optional(text),
  purpose: Type.Optional(always('proof')),
})
export const Challenge = named('Challenge', { publicKey: browserJson, type: always('challenge') })
