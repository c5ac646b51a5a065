import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { createSecureContext, TLSSocket } from 'node:tls'
import { atEnd } from '../service/at-end.ts'
import { integer, octets, read, sequence, type Value, value } from './ber.ts'
import { type Identity, identity } from './certificates.ts'

/** An entry in a minimal LDAP server (RFC 4511), which can also break the protocol. */

export interface Entry {
  readonly dn: string
  readonly password?: string
  readonly attributes: Readonly<Record<string, readonly (string | Buffer)[]>>
}

export interface Asked {
  readonly kind: 'bind' | 'search' | 'start-tls' | 'unbind'
  /** The name of a bind, or the base of a search. */
  readonly dn: string
  readonly password: string
  /** The filter in the form of RFC 4515, without escapes. */
  readonly filter: string
  readonly isEncrypted: boolean
}

/** Answers in place of the server. @returns true if it did */
export type Twist = (asked: Asked, conversation: Conversation) => boolean

export interface Conversation {
  readonly id: number
  readonly socket: Socket
  result(tag: number, code: number): void
  entry(entry: Entry): void
}

export interface Directory {
  readonly port: number
  /** The content of a CA file for the TLS that it offers. */
  readonly certificate: string
  /** The requests received, in order. */
  readonly asked: Asked[]
  /** The entries, which may be changed while the server runs. */
  entries: Entry[]
  twist: Twist | undefined
  stop(): Promise<void>
}

export const tags = { bind: 0x61, entry: 0x64, done: 0x65, reference: 0x73, extended: 0x78 } as const

interface Options {
  readonly tls?: boolean
  readonly certificate?: Identity
}

export async function startDirectory(
  t: TestContext,
  entries: readonly Entry[],
  { tls = false, certificate = identity('localhost') }: Options = {},
): Promise<Directory> {
  const context = createSecureContext({ key: certificate.privateKey, cert: certificate.certificate })
  const secured = (socket: Socket) =>
    new TLSSocket(socket, { isServer: true, secureContext: context }) as Socket
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    serve(tls ? secured(socket) : socket, tls)
  })

  function serve(socket: Socket, isEncrypted: boolean): void {
    let rest = Buffer.alloc(0)
    socket.on('error', () => {})
    const take = (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk])
      for (let next = read(rest); next; next = read(rest)) {
        rest = rest.subarray(next.end)
        answer(next.one, socket, isEncrypted, () => {
          socket.off('data', take)
          serve(secured(socket), true)
        })
      }
    }
    socket.on('data', take)
  }

  function answer(message: Value, socket: Socket, isEncrypted: boolean, encrypt: () => void): void {
    const [number, operation] = message.values
    if (!number || !operation) throw new Error('no message')
    const id = number.bytes.readUIntBE(0, number.bytes.length)
    const asked = askedIn(operation, isEncrypted)
    directory.asked.push(asked)
    const conversation = conversationOn(socket, id)
    if (directory.twist?.(asked, conversation)) return
    if (asked.kind === 'bind') conversation.result(tags.bind, bind(asked))
    else if (asked.kind === 'search') search(operation, asked, conversation)
    else if (asked.kind === 'unbind') socket.end()
    else {
      conversation.result(tags.extended, 0)
      encrypt()
    }
  }

  function search({ values }: Value, asked: Asked, conversation: Conversation): void {
    const [, scope, , limit, , , filter, wanted] = values
    const max = limit?.bytes[0] ?? 0
    const found = directory.entries.filter(
      entry =>
        (scope?.bytes[0] === 0 ? isSame(entry.dn, asked.dn) : isBelow(entry.dn, asked.dn)) &&
        filter !== undefined &&
        matches(entry, filter),
    )
    const names = wanted?.values.map(({ bytes }) => bytes.toString().toLowerCase()) ?? []
    for (const entry of max === 0 ? found : found.slice(0, max))
      conversation.entry({
        ...entry,
        attributes: Object.fromEntries(
          Object.entries(entry.attributes).filter(([name]) => names.includes(name.toLowerCase())),
        ),
      })
    conversation.result(tags.done, max > 0 && found.length > max ? 4 : 0)
  }

  function bind({ dn, password }: Asked): number {
    // RFC 4513 §5.1.2: a bind without a password is anonymous and succeeds. Clients therefore must not send
    // an empty password.
    if (password === '') return 0
    const entry = directory.entries.find(one => isSame(one.dn, dn))
    return entry?.password === password ? 0 : 49
  }

  const directory: Directory = {
    port: 0,
    certificate: certificate.certificate,
    asked: [],
    entries: [...entries],
    twist: undefined,
    stop: async () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, directory.stop)
  return Object.assign(directory, { port: (server.address() as AddressInfo).port })
}

export const result = (id: number, tag: number, code: number): Buffer =>
  sequence(integer(id), value(tag, integer(code, 0x0a), octets(''), octets('')))

export const entryMessage = (id: number, { dn, attributes }: Entry): Buffer =>
  sequence(
    integer(id),
    value(
      tags.entry,
      octets(dn),
      sequence(
        ...Object.entries(attributes).map(([name, values]) =>
          sequence(octets(name), value(0x31, ...values.map(octets))),
        ),
      ),
    ),
  )

const conversationOn = (socket: Socket, id: number): Conversation => ({
  id,
  socket,
  result: (tag, code) => void socket.write(result(id, tag, code)),
  entry: entry => void socket.write(entryMessage(id, entry)),
})

function askedIn({ tag, values, bytes }: Value, isEncrypted: boolean): Asked {
  const none = { dn: '', password: '', filter: '', isEncrypted }
  const text = (at: number) => values[at]?.bytes.toString() ?? ''
  if (tag === 0x60) return { ...none, kind: 'bind', dn: text(1), password: text(2) }
  if (tag === 0x63) return { ...none, kind: 'search', dn: text(0), filter: written(values[6]) }
  if (tag === 0x77) return { ...none, kind: 'start-tls' }
  if (tag === 0x42 && bytes.length === 0) return { ...none, kind: 'unbind' }
  throw new Error(`an operation of the tag ${tag}`)
}

function written(filter: Value | undefined): string {
  if (!filter) return ''
  const { tag, values, bytes } = filter
  const signs: Readonly<Record<number, string>> = { 160: '&', 161: '|', 162: '!' }
  if (tag in signs) return `(${signs[tag]}${values.map(written).join('')})`
  if (tag === 0x87) return `(${bytes}=*)`
  return `(${values[0]?.bytes}=${values[1]?.bytes})`
}

function matches(entry: Entry, filter: Value): boolean {
  const { tag, values, bytes } = filter
  const all = (name: string) =>
    Object.entries(entry.attributes).find(([known]) => known.toLowerCase() === name.toLowerCase())?.[1] ?? []
  if (tag === 0xa0) return values.every(one => matches(entry, one))
  if (tag === 0xa1) return values.some(one => matches(entry, one))
  if (tag === 0xa2) return values.every(one => !matches(entry, one))
  if (tag === 0x87) return /^objectclass$/i.test(bytes.toString()) || all(bytes.toString()).length > 0
  const [name, wanted] = values
  return all(name?.bytes.toString() ?? '').some(one => isSame(one.toString(), wanted?.bytes.toString() ?? ''))
}

/** Compares names nearly as caseIgnoreMatch does (RFC 4517 §4.2.11): insignificant spaces are ignored. */
const isSame = (a: string, b: string) => prepared(a) === prepared(b)
const prepared = (text: string) =>
  text.normalize('NFKC').toLowerCase().trim().replaceAll(/ +/g, ' ').replaceAll(/, /g, ',')
const isBelow = (dn: string, base: string) => isSame(dn, base) || prepared(dn).endsWith(`,${prepared(base)}`)
