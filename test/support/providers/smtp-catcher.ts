import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import { SMTPServer } from 'smtp-server'
import { atEnd } from '../service/at-end.ts'
import { until } from '../service/waiting.ts'

/** A mail as it arrived. */
export interface Caught {
  readonly from: string
  readonly to: readonly string[]
  /** With headers, as sent. */
  readonly source: string
  /** The addresses in it that are longer than a line are put together again. */
  readonly links: readonly string[]
}

export interface Catcher {
  readonly url: string
  readonly mails: readonly Caught[]
  /** Refuses so many mails from now on, with this code. */
  refuse(times: number, code: number): void
  /** @returns the mail with this number, from 1, when it is there */
  mail(number: number): Promise<Caught>
}

/** A real SMTP server that keeps what it gets. */
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
