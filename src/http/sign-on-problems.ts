/** The entries of the catalogue (`problems.ts`) for single sign-on. */
export const signOnProblems = {
  'redirect-not-allowed': {
    status: 400,
    title: 'The address to return to is not allowed',
    help: 'After single sign-on, a browser is sent only to origins in CARREL_ALLOWED_ORIGINS, or to the service itself. No login was started.',
  },
  'sign-on-not-begun': {
    status: 400,
    title: 'This login was not started here',
    help: 'The message of the identity provider does not belong to a login that this browser started within the last 15 minutes, or that login is finished. Start again.',
  },
  'logout-not-understood': {
    status: 400,
    title: 'The logout message is not valid',
    help: 'A logout message of an identity provider must be signed by the provider, recent, and addressed to this service. Nobody was logged out, and the provider could not be told. Open this service and log out there.',
  },
  'sign-on-refused': {
    status: 401,
    title: 'Single sign-on failed',
    help: 'The identity provider did not log you in, or its response is not valid. The log of the service says why.',
  },
  'account-refused': {
    status: 403,
    title: 'There is no account for you here',
    help: 'The identity provider knows you, but this service has no eperson for you and did not create one. The operator decides who may log in; the log of the service names the rule.',
  },
  'provider-unavailable': {
    status: 502,
    title: 'The identity provider does not answer',
    help: 'The service could not reach the identity provider, or could not read its response. Try again later, or log in another way.',
  },
} as const
