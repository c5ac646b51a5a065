import type { Mail } from './mailer.ts'

/** The mails that Carrel sends. Each says why it was sent and what happens if it is ignored. */
type Text = Omit<Mail, 'to'>

const ignored =
  'If this was not you, ignore this mail: nothing changes. Carrel did not tell them whether there is an account.'

export const registrationMail = (link: string): Text => ({
  subject: 'Finish your registration',
  text: `Somebody, probably you, wants to register with this email address.

To choose a password and finish, open this link within one hour:

${link}

It works once. ${ignored}
`,
})

/** Sent to people who register although they have an account. */
export const alreadyRegisteredMail = (link: string): Text => ({
  subject: 'You have an account already',
  text: `Somebody, probably you, wants to register with this email address. There is an account with it already.

If you forgot its password, ask for a new one here:

${link}

${ignored}
`,
})

export const forgottenPasswordMail = (link: string): Text => ({
  subject: 'Choose a new password',
  text: `Somebody, probably you, has forgotten the password of the account with this email address.

To choose a new one, open this link within one hour:

${link}

It works once, and ends every session of the account. ${ignored}
`,
})
