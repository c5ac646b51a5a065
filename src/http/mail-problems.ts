/** The entries of the catalogue (`problems.ts`) for registrations and forgotten passwords. */
export const mailProblems = {
  'mail-token-refused': {
    status: 400,
    title: 'The link of the mail is not valid',
    help: 'A link in a mail works once, for one hour, and only for what it was sent for. Ask for another one.',
  },
  'registration-refused': {
    status: 403,
    title: 'Nobody can register with this address',
    help: 'The operator decides whether people may register, and with email addresses of which domains (CARREL_REGISTRATION, CARREL_REGISTRATION_DOMAINS).',
  },
} as const
