import assert from 'node:assert/strict'
import { verify } from 'node:crypto'
import { formIn, serviceIdentity } from './saml-flow.ts'
import { holdsValidSignature, inflated } from './saml-forge.ts'

/** The service's answer to a provider's logout request, sent through the browser. */
export interface LogoutAnswer {
  readonly binding: 'redirect' | 'post'
  /** The address to which the browser takes it. */
  readonly address: string
  readonly relayState: string | null
  readonly inResponseTo: string | undefined
  /** The last parts of the status codes, joined, such as `Requester/RequestDenied`. */
  readonly status: string
  /** True if the service signed it in the way of its binding. */
  readonly isSigned: boolean
  readonly xml: string
}

/** @returns undefined if the browser stays at the service */
export async function logoutAnswerOf(answer: Response): Promise<LogoutAnswer | undefined> {
  if (answer.status === 303) return byRedirect(new URL(answer.headers.get('location') ?? ''))
  const page = await answer.clone().text()
  return answer.status === 200 && page.includes('SAMLResponse') ? byPost(page) : undefined
}

function byRedirect({ href, origin, pathname, search, searchParams }: URL): LogoutAnswer | undefined {
  const message = searchParams.get('SAMLResponse')
  if (message === null) return undefined
  const octets = search.replace(/^.*(?=SAMLResponse=)|&Signature=.*/g, '')
  const signature = searchParams.get('Signature')
  if (signature === null) assert.equal(searchParams.has('SigAlg'), false, href)
  const isSigned =
    signature !== null &&
    verify('sha256', Buffer.from(octets), serviceIdentity.certificate, Buffer.from(signature, 'base64'))
  assert.equal(isSigned, signature !== null, 'the signature holds')
  const relayState = searchParams.get('RelayState')
  const xml = inflated(message)
  assert.doesNotMatch(xml, /Signature/)
  return { binding: 'redirect', address: origin + pathname, relayState, isSigned, xml, ...read(xml) }
}

function byPost(page: string): LogoutAnswer {
  const { action, fields } = formIn(page, 'https://nowhere.example.org/')
  const xml = Buffer.from(fields.SAMLResponse ?? '', 'base64').toString()
  const isSigned = xml.includes('SignatureValue')
  if (isSigned) assert.ok(holdsValidSignature(xml, serviceIdentity.certificate), 'the signature holds')
  return {
    binding: 'post',
    address: action,
    relayState: fields.RelayState ?? null,
    isSigned,
    xml,
    ...read(xml),
  }
}

function read(xml: string) {
  assert.match(xml, /^<samlp:LogoutResponse /)
  return {
    inResponseTo: /InResponseTo="([^"]*)"/.exec(xml)?.[1],
    status: [...xml.matchAll(/StatusCode Value="[^"]*:(\w+)"/g)].map(([, code]) => code).join('/'),
  }
}

/** Asserts that the answer reports no logout, and reports it to no address but the provider's. */
export async function assertNotLoggedOut(answer: Response, provider: string, what = ''): Promise<void> {
  const said = await logoutAnswerOf(answer)
  if (said === undefined) return assert.ok([400, 413].includes(answer.status), `${what}: ${answer.status}`)
  assert.equal(said.address, `${provider}/slo`, what)
  assert.match(said.status, /^Requester\/\w+$/, what)
}
