import type { Contract, Contracts } from '../http/contract.ts'
import type { ProblemCode } from '../http/problems.ts'
import { answer, nothing, parameter, Type, text, uri } from '../http/schema.ts'

export const tag = 'Single sign-on'

const common = { needs: 'single sign-on' } as const
const cookie = { 'Set-Cookie': Type.Optional(text) }
const sentOn = (what: string) => nothing(what, { ...cookie, Location: uri })
const page = (what: string) => answer(what, { 'text/html': text }, cookie)
const refused = [
  'sign-on-refused',
  'sign-on-not-begun',
  'account-refused',
  'provider-unavailable',
  'busy',
  'store-unavailable',
] as const satisfies readonly ProblemCode[]
const posted = { 'application/x-www-form-urlencoded': Type.Record(text, text) }
const capital = (name: string) =>
  name.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, letter: string) => letter.toUpperCase())

export const contracts = {
  beginSignOn: (scheme: string): Contract => ({
    operationId: `beginSignOn${capital(scheme)}`,
    summary: 'Log in at an identity provider',
    description: 'For browsers. They come back to `redirectUrl`.',
    ...common,
    query: {
      redirectUrl: parameter(uri),
      provider: parameter(text),
      entityID: parameter(text, 'Of a provider in a federation.'),
      search: parameter(text),
      page: parameter(text),
      force: parameter(text),
      ask: parameter(text),
      returned: parameter(text),
    },
    answers: { 200: page('A page to choose a provider.'), 303: sentOn('To the provider.') },
    problems: [...refused, 'bad-parameter', 'redirect-not-allowed'],
  }),
  showServiceProvider: {
    summary: 'Carrel as a SAML service provider',
    ...common,
    answers: { 200: answer('Its metadata.', { 'application/samlmetadata+xml': text }) },
  },
  acceptAssertion: {
    summary: 'Where a SAML provider sends its assertion',
    ...common,
    body: posted,
    answers: { 303: sentOn('Back to where the login began.') },
    problems: refused,
  },
  refuseAssertion: {
    summary: 'Where a browser asks again for the address of an assertion',
    ...common,
    answers: {},
    problems: ['method-not-allowed'],
  },
  acceptCode: (provider: string): Contract => ({
    operationId: `acceptCode${capital(provider)}`,
    summary: 'Where an OpenID provider sends the browser back',
    ...common,
    query: { state: parameter(text), code: parameter(text), iss: parameter(text), error: parameter(text) },
    answers: { 303: sentOn('Back to where the login began.') },
    problems: refused,
  }),
  receiveLogout: {
    summary: 'A SAML provider’s logout, in the address',
    ...common,
    query: Object.fromEntries(
      ['SAMLRequest', 'SAMLResponse', 'RelayState', 'SigAlg', 'Signature'].map(name => [
        name,
        parameter(text),
      ]),
    ),
    answers: { 200: page('What happened.'), 303: sentOn('Back to the provider.') },
    problems: [...refused, 'bad-parameter', 'logout-not-understood'],
  },
  receivePostedLogout: {
    summary: 'A SAML provider’s logout, in a form',
    ...common,
    body: posted,
    answers: { 200: page('What happened.'), 303: sentOn('Back to the provider.') },
    problems: [...refused, 'logout-not-understood'],
  },
  logOutAtProvider: {
    summary: 'The provider’s own logout',
    ...common,
    answers: { 303: sentOn('To the provider, or to where users are sent.') },
  },
  showLoggedOut: {
    summary: 'Where the browser comes back from that logout',
    ...common,
    answers: { 303: sentOn('To where users are sent.') },
  },
  acceptLogoutToken: (provider: string): Contract => ({
    operationId: `acceptLogoutToken${capital(provider)}`,
    summary: 'An OpenID provider’s back-channel logout',
    ...common,
    body: posted,
    answers: { 200: nothing('The sessions have ended.') },
    problems: [...refused, 'logout-not-understood'],
  }),
  acceptFrontChannelLogout: (provider: string): Contract => ({
    operationId: `acceptFrontChannelLogout${capital(provider)}`,
    summary: 'An OpenID provider’s front-channel logout',
    ...common,
    query: { iss: parameter(text), sid: parameter(text, undefined, { required: true }) },
    answers: { 200: page('An empty page, for a frame.') },
    problems: [...refused, 'bad-parameter', 'logout-not-understood'],
  }),
} as const satisfies Contracts
