import assert from 'node:assert/strict'
import { assertProblem } from '../clients/answers.ts'
import { bearerOf } from '../clients/client.ts'
import { cookieOf, tradeCookie } from '../clients/cookie-jar.ts'
import { baseUrl } from '../service/service.ts'
import { landing, locationOf, type Node, startSignOn, Visitor } from './saml-flow.ts'
import { inflated, type Message, responseXml, signed } from './saml-forge.ts'
import { attributeNames, type SamlProvider } from './saml-provider.ts'

export const acs = `${baseUrl}/api/authn/sso/saml/acs`
export const entityId = `${baseUrl}/api/authn/sso/saml/metadata`

/** A sign-on that a browser has begun. The test answers in place of the provider. */
export interface PendingLogin {
  readonly visitor: Visitor
  readonly provider: SamlProvider
  readonly state: string
  /** The id of the AuthnRequest. */
  readonly request: string
}

/** @param browser whose cookies are used; a new one by default */
export async function begin(
  node: Node,
  provider: SamlProvider,
  id = 'uni',
  browser = new Visitor(node),
): Promise<PendingLogin> {
  const { visitor, answer } = await startSignOn(node, { provider: id, visitor: browser })
  const location = locationOf(answer)
  const xml = inflated(location.searchParams.get('SAMLRequest') ?? '')
  return {
    visitor,
    provider,
    state: location.searchParams.get('RelayState') ?? '',
    request: /\sID="([^"]+)"/.exec(xml)?.[1] ?? '',
  }
}

export const mail = (email: string) => ({ [attributeNames.mail]: email })

/** Returns a message in which the provider of the attempt vouches for Mallory, who has an account there. */
export const about = ({ provider, request }: PendingLogin, changes: Partial<Message> = {}): Message => ({
  issuer: provider.entityId,
  audience: entityId,
  destination: acs,
  recipient: acs,
  inResponseTo: request,
  nameId: 'mallory',
  attributes: mail(`${changes.nameId || 'mallory'}@example.net`),
  ...changes,
})

export type Signed = Parameters<typeof signed>[1]

/** Returns the message as a response with the signature of the provider, or with another one. */
export const response = (
  attempt: PendingLogin,
  changes: Partial<Message> = {},
  signing: Partial<Signed> = {},
): string =>
  signed(responseXml(about(attempt, changes)), {
    element: 'Assertion',
    identity: attempt.provider.identity,
    ...signing,
  })

/** Creates the XML of a response in an attempt. */
export type Forge = (attempt: PendingLogin) => string | Promise<string>

export const base64 = (xml: string) => Buffer.from(xml).toString('base64')

export const send = ({ visitor, provider, state }: PendingLogin, SAMLResponse: string): Promise<Response> =>
  visitor.submit({ action: acs, fields: { SAMLResponse, RelayState: state } }, provider.address)

/** Asserts that the answer leads to the page and that the sign-on can be exchanged. @returns the token */
export async function assertAccepted(
  { visitor }: Pick<PendingLogin, 'visitor'>,
  answer: Response,
): Promise<string> {
  assert.equal(answer.status, 303, await answer.text())
  assert.equal(locationOf(answer).href, landing)
  return bearerOf(await visitor.trade())
}

export interface Refused {
  readonly status: number
  readonly code: string
}
export const refusal: Refused = { status: 401, code: 'sign-on-refused' }
/** The refusal of a valid message without a subject. */
export const noSubject: Refused = { status: 403, code: 'account-refused' }
export const notBegun: Refused = { status: 400, code: 'sign-on-not-begun' }

/** Asserts that there is no cookie to exchange, no session and no eperson. */
export async function assertRefused(
  { visitor }: Pick<PendingLogin, 'visitor'>,
  answer: Response,
  { status, code }: Refused = refusal,
): Promise<void> {
  const problem = await assertProblem(answer, status, code)
  assert.doesNotMatch(JSON.stringify(problem), /mallory|admin@/i)
  assert.equal(cookieOf(answer, tradeCookie), undefined)
  assert.equal(
    visitor.signOnCookies().some(name => tradeCookie.test(name)),
    false,
  )
  const traded = await visitor.trade()
  assert.equal(traded.headers.get('authorization'), null)
  await assertProblem(traded, 401, 'login-failed')
}
