import { httpUrl, list, oneOf, setting } from './setting.ts'

const smtpUrl = (text: string) => {
  const url = URL.parse(text)
  return url && /^smtps?:$/.test(url.protocol) && url.hostname !== '' && url.hash === '' && url.search === ''
    ? text
    : undefined
}

/** An address, with or without a name before it: `Archive <archive@example.edu>`. */
const sender = (text: string) => {
  const found = /^(?:([^<>"\\\p{Cc}]{1,100}?) *<)?([^\s@<>"(),:;]+@[^\s@<>"(),:;]+)(>)?$/u.exec(text)
  const [, name, address = '', closing] = found ?? []
  return found && (name === undefined) === (closing === undefined) && address.length <= 254
    ? { name: name ?? '', address }
    : undefined
}

const isDomain = (text: string) => /^[\w-]+(\.[\w-]+)+$/.test(text)

/** What mail needs (docs/decisions/0045). */
export const mailSettings = {
  CARREL_SMTP_URL: setting(
    'the mail server as smtp://user:password@host:port, or smtps:// for TLS from the start (not set: no mail, so no registration and no forgotten passwords)',
    null,
    smtpUrl,
  ),
  CARREL_SMTP_TLS: setting(
    'required, or optional: what smtp:// does if the server offers no STARTTLS; on this machine it is always optional',
    'required',
    oneOf('required', 'optional'),
  ),
  CARREL_MAIL_FROM: setting('the sender, such as Archive <archive@example.edu>', null, sender),
  CARREL_UI_URL: setting(
    'the http(s) address of the user interface, to which links in mails lead (not set: the origin of CARREL_BASE_URL)',
    null,
    httpUrl,
  ),
  CARREL_REGISTRATION: setting(
    'true or false: whether anybody may register, if mail is configured',
    'true',
    oneOf('true', 'false'),
  ),
  CARREL_REGISTRATION_DOMAINS: setting(
    'domains of email addresses that may register, separated by commas (empty: all)',
    '',
    text => {
      const domains = list(text).map(domain => domain.toLowerCase())
      return domains.every(isDomain) ? domains : undefined
    },
  ),
}
