import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { SMTPServer } from 'smtp-server'
import { atEnd } from '../service/at-end.ts'
import { until } from '../service/waiting.ts'

/** A received mail. */
export interface Caught {
  readonly from: string
  readonly to: readonly string[]
  /** The mail with its headers, as sent. */
  readonly source: string
  /** Addresses in the text. Those that were split over lines are joined. */
  readonly links: readonly string[]
}

export interface Catcher {
  readonly url: string
  readonly mails: readonly Caught[]
  /** Refuses the next mails, as many as given, with this code. */
  refuse(times: number, code: number): void
  /** Waits for a mail. @returns the mail with this number, counted from 1 */
  mail(number: number): Promise<Caught>
}

/** Starts a real SMTP server that keeps all mails. */
export async function startSmtpCatcher(
  t: TestContext,
  { user, password }: { user?: string; password?: string } = {},
): Promise<Catcher> {
  const mails: Caught[] = []
  const refusals: number[] = []
  const server = new SMTPServer({
    authOptional: user === undefined,
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    logger: false,
    onAuth: (auth, _session, callback) => {
      if (auth.username === user && auth.password === password) callback(null, { user: auth.username })
      else callback(new Error('wrong password'))
    },
    onData: (stream, session, callback) => {
      const parts: Buffer[] = []
      stream.on('data', (part: Buffer) => parts.push(part))
      stream.on('end', () => {
        const code = refusals.shift()
        if (code !== undefined) return callback(Object.assign(new Error('not now'), { responseCode: code }))
        const source = Buffer.concat(parts).toString()
        const { mailFrom, rcptTo } = session.envelope
        mails.push({
          from: mailFrom === false || !mailFrom ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          source,
          links:
            source
              .replaceAll('=\r\n', '')
              .replaceAll('=3D', '=')
              .match(/https?:\/\/\S+/g) ?? [],
        })
        callback()
      })
    },
  })
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  atEnd(t, () => new Promise<void>(resolve => server.close(() => resolve())))
  const { port } = server.server.address() as AddressInfo
  const login = user === undefined ? '' : `${encodeURIComponent(user)}:${encodeURIComponent(password ?? '')}@`
  return {
    url: `smtp://${login}127.0.0.1:${port}`,
    mails,
    refuse: (times, code) => refusals.push(...Array<number>(times).fill(code)),
    mail: async number => {
      await until(
        `mail ${number}`,
        () => mails.length,
        count => count >= number,
      )
      return mails[number - 1] as Caught
    },
  }
}
