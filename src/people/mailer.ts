import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { createTransport } from 'nodemailer'
import type { MailConfig } from '../config/parts.ts'
import { isLoopbackName } from '../lib/addresses.ts'

export interface Mail {
  /** An address and nothing else. */
  readonly to: string
  readonly subject: string
  /** Plain text. */
  readonly text: string
}

/** Sends mail (docs/decisions/0045). */
export interface Mailer {
  /**
   * Sends a mail in the background, and tries again if the server can't be reached. @returns false if too
   * many mails wait already
   */
  send(mail: Mail): boolean
  /** Gives up waiting mails. */
  close(): void
}

/** Maximum number of mails that wait or are being sent, for each event loop. */
const maxWaiting = 1_000
/** Pauses before a mail is tried again, in ms. */
const pauses = [5_000, 60_000, 300_000]
/** Time that a server has to answer, in ms. */
const patience = 20_000

/**
 * @param log never gets an address or a text: a mail holds a token
 * @param retries pauses before the next attempts, in ms
 */
export function createMailer(
  { smtpUrl, requireTls, from }: MailConfig,
  log: Pick<FastifyBaseLogger, 'warn' | 'error'>,
  retries: readonly number[] = pauses,
): Mailer {
  const { protocol, hostname, port, username, password } = new URL(smtpUrl)
  const secure = protocol === 'smtps:'
  const isHere = isLoopbackName(hostname)
  const transport = createTransport({
    host: hostname.replace(/^\[(.*)\]$/, '$1'),
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    requireTLS: !secure && requireTls && !isHere,
    // A server on this machine has no certificate that others would trust.
    tls: { rejectUnauthorized: !isHere },
    ...(username === ''
      ? {}
      : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    pool: true,
    maxConnections: 2,
    connectionTimeout: patience,
    greetingTimeout: patience,
    socketTimeout: patience,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const closing = new AbortController()
  let waiting = 0

  async function deliver(mail: Mail): Promise<void> {
    for (let tried = 0; ; tried++) {
      try {
        await transport.sendMail({ ...mail, from, to: { name: '', address: mail.to } })
        return
      } catch (error) {
        if (closing.signal.aborted) return
        const wait = retries[tried]
        const { code, status } = faultOf(error)
        if (wait === undefined || (status !== undefined && status >= 500)) {
          log.error({ code, status }, 'a mail could not be sent and was given up')
          return
        }
        log.warn({ code, status, again: wait / 1000 }, 'a mail could not be sent yet')
        await pause(wait, undefined, { ref: false, signal: closing.signal }).catch(() => {})
      }
    }
  }

  return {
    send: mail => {
      if (waiting >= maxWaiting) return false
      waiting++
      void deliver(mail).finally(() => waiting--)
      return true
    },
    close: () => {
      closing.abort()
      transport.close()
    },
  }
}

/** The parts of an error that may be logged: its message may contain an address. */
function faultOf(error: unknown): { code: string; status: number | undefined } {
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown }
  return {
    code: typeof code === 'string' ? code : 'unknown',
    status: typeof responseCode === 'number' ? responseCode : undefined,
  }
}
